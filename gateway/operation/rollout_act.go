package operation

import "github.com/signalbox/signalbox/client/rollout"

// rolloutActs are the commands for acts, in the order in which an operator may need them. A command sets the verb.
var rolloutActs = []Face{
	{
		Use: "rollout pause PATH NAME", Sets: rollout.Pause,
		Short: "Keep all targets as they are",
		Long: `Keeps all targets as they are, until resume: no location gets another version by
itself. Instances still reach the targets that they have, which is noted. Promote,
abort and rollback work meanwhile.`,
		Example: `  signalbox rollout pause /prod dns --reason 'errors in man'`,
		Done:    "rollout NAME is paused",
	},
	{
		Use: "rollout resume PATH NAME", Sets: rollout.Resume,
		Short: "End a pause, and a halt",
		Long: `Ends a pause, and a halt. Deadlines count from here, and targets may be given up as
often as at first.`,
		Example: `  signalbox rollout resume /prod dns --reason 'the errors are gone'`,
		Done:    "rollout NAME goes on",
	},
	{
		Use: "rollout promote PATH NAME [--location] [--to]", Sets: rollout.Promote,
		Short: "Go on without waiting for delays, gates and leaders",
		Long: `Gives a version to locations without waiting for delays, gates and the locations
before them: without --to, what each would get next if no delay were left. A location
that has the version already counts as having reached it. Without --location it is for
all that are not bypassed.`,
		Example: `  # man need not wait any longer
  signalbox rollout promote /prod dns --location man --reason hotfix

  # everywhere, now
  signalbox rollout promote /prod dns --to 18 --reason hotfix`,
		Done: "rollout NAME is promoted",
	},
	{
		Use: "rollout abort PATH NAME", Sets: rollout.Abort,
		Short: "Give up what is not reached, and halt",
		Long: `Gives up all targets that are not reached, and halts the rollout: no location gets
another version by itself until resume. No target changes. Use rollback to go back.`,
		Example: `  signalbox rollout abort /prod dns --reason 'version 18 loses records'`,
		Done:    "rollout NAME is aborted, and halted; signalbox rollout resume lets it go on",
	},
	{
		Use: "rollout rollback PATH NAME [--location] --to [--all-at-once]", Sets: rollout.Rollback,
		Short: "Go back to a version",
		Long: `Lets locations go back to a version: in their order, with their delays, or with
--all-at-once all at once. They do not get the versions above it that there are now;
what is published later flows on. Without --location it is for all. It works while the
rollout is paused or halted.`,
		Example: `  signalbox rollout rollback /prod dns --to 17 --all-at-once --reason 'version 18 loses records'`,
		Done:    "rollout NAME goes back",
	},
	{
		Use: "rollout bypass PATH NAME --location", Sets: rollout.Bypass,
		Short: "Take locations out of the order",
		Long: `Takes locations out of the order: they keep what they have, and the next ones follow
those before them, with the delays of both. It is for a location that is drained, or
that cannot be reached.`,
		Example: `  signalbox rollout bypass /prod dns --location man --reason 'man is drained'`,
		Done:    "rollout NAME goes on without them",
	},
	{
		Use: "rollout unbypass PATH NAME --location", Sets: rollout.Unbypass,
		Short:   "Put locations back into the order",
		Long:    `Puts locations back into the order.`,
		Example: `  signalbox rollout unbypass /prod dns --location man --reason 'man is back'`,
		Done:    "rollout NAME goes on with them",
	},
	{
		Use: "rollout withdraw PATH NAME VERSION", Sets: rollout.Withdraw,
		Short: "Have a version never chosen again",
		Long: `Has a version never chosen again. Locations in which it is the target and not reached
give it up; where it is reached it stays: use rollback for those.`,
		Example: `  signalbox rollout withdraw /prod dns 18 --reason 'version 18 loses records'`,
		Done:    "the version is withdrawn from rollout NAME",
	},
	{
		Use: "rollout retry PATH NAME [--location]", Sets: rollout.Retry,
		Short: "Try targets again that failed",
		Long: `Assigns targets again that were given up, are stuck, or fail in some instance, and
whose version is not withdrawn. It ends a halt. Without --location it is for all.`,
		Example: `  signalbox rollout retry /prod dns --location man --reason 'the source is back'`,
		Done:    "rollout NAME tries again",
	},
}
