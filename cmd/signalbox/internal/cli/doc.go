// Package cli is the frame that all commands share: input and output (Streams), finding the cluster (Frame.Ask,
// Frame.Stay), printing (Frame.Rows, Frame.Fields, Frame.Line) and exit codes (ExitWith, ExitCode).
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
