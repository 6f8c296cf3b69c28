// Package cli is the frame all commands share: input and output (Streams), finding the cluster (Frame.Ask,
// Frame.Stay), printing (Frame.Rows, Frame.Fields, Frame.Line) and exit codes (ExitWith, ExitCode).
//
// A command that communicates with a cluster is created with a Frame:
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
// Data goes to standard output, in the format given with --output; everything else goes to standard error. Text from
// the cluster, such as a semaphore's name, is untrusted: it is printed so that it cannot control a terminal.
package cli
