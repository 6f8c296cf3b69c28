// Package cli is the frame that the commands of signalbox share: what a command has of the world (Streams),
// how it finds the cluster (Frame.Ask, Frame.Stay), how it prints (Frame.Rows, Frame.Fields, Frame.Line), and
// with which code it ends (ExitWith, ExitCode).
//
// A command that speaks to a cluster is made with a Frame:
//
//	func newPing(f *cli.Frame) *cobra.Command {
//		c := &cobra.Command{
//			Use: "ping", Short: "...", Long: "...", Example: "...", Args: cli.NoArguments,
//			RunE: func(c *cobra.Command, _ []string) error {
//				return f.Ask(c, func(ctx context.Context, box *client.Client) error {
//					return box.Ping(ctx)
//				})
//			},
//		}
//		return f.Command(c)
//	}
//
// Data goes to standard output, in the format of --output; all else goes to standard error. What comes from
// the cluster, such as the name of a semaphore, was written by others: it is shown so that it cannot give
// orders to a terminal.
package cli
