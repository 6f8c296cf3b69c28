package operation

import "github.com/signalbox/signalbox/client/rollout"

// rolloutActs are the commands for actions, in the order in which an operator may need them. A command sets the verb.
var rolloutActs = []Face{
	{
		Use: "rollout pause PATH NAME", Sets: rollout.Pause,
		Short: "Pause a rollout",
		Long: `Keeps all targets until resume: no location gets another version automatically.
Instances still reach their targets, which is recorded. Promote, abort and rollback work
during a pause.`,
		Example: `  signalbox rollout pause /prod dns --reason 'errors in man'`,
		Done:    "rollout NAME is paused",
	},
	{
		Use: "rollout resume PATH NAME", Sets: rollout.Resume,
		Short: "Resume a paused or halted rollout",
		Long: `Ends a pause or a halt. Deadlines start again, and so does the count of attempts before
a target is abandoned.`,
		Example: `  signalbox rollout resume /prod dns --reason 'the errors are gone'`,
		Done:    "rollout NAME is resumed",
	},
	{
		Use: "rollout promote PATH NAME [--location] [--to]", Sets: rollout.Promote,
		Short: "Promote a version without waiting for delays, gates and leaders",
		Long: `Assigns a version to locations without waiting for delays, gates and earlier locations.
Without --to, each location gets the next version, as if no delay were left. A location
that already has the version counts as having reached it. Without --location, the
command applies to all locations that are not bypassed.`,
		Example: `  # man need not wait any longer
  signalbox rollout promote /prod dns --location man --reason hotfix

  # everywhere, now
  signalbox rollout promote /prod dns --to 18 --reason hotfix`,
		Done: "rollout NAME is promoted",
	},
	{
		Use: "rollout abort PATH NAME", Sets: rollout.Abort,
		Short: "Abandon unreached targets, and halt",
		Long: `Abandons all targets that are not reached, and halts the rollout: no location gets
another version automatically until resume. No target changes; use rollback to return to
an earlier version.`,
		Example: `  signalbox rollout abort /prod dns --reason 'version 18 loses records'`,
		Done:    "rollout NAME is aborted and halted; continue with signalbox rollout resume",
	},
	{
		Use: "rollout rollback PATH NAME [--location] --to [--all-at-once]", Sets: rollout.Rollback,
		Short: "Roll back to a version",
		Long: `Returns locations to a version, in their order and with their delays, or with
--all-at-once without. They do not get the newer versions that exist now; versions
published later are delivered again. Without --location, the command applies to all
locations. Rollback also works while the rollout is paused or halted.`,
		Example: `  signalbox rollout rollback /prod dns --to 17 --all-at-once --reason 'version 18 loses records'`,
		Done:    "rollout NAME rolls back",
	},
	{
		Use: "rollout bypass PATH NAME --location", Sets: rollout.Bypass,
		Short: "Take locations out of the order",
		Long: `Takes locations out of the order: they keep their versions, and the next locations
follow the locations before, with the delays of both. Use bypass for a location that is
drained or unreachable.`,
		Example: `  signalbox rollout bypass /prod dns --location man --reason 'man is drained'`,
		Done:    "rollout NAME bypasses the locations",
	},
	{
		Use: "rollout unbypass PATH NAME --location", Sets: rollout.Unbypass,
		Short:   "Put locations back into the order",
		Long:    "Puts bypassed locations back into the order.",
		Example: `  signalbox rollout unbypass /prod dns --location man --reason 'man is back'`,
		Done:    "rollout NAME includes the locations again",
	},
	{
		Use: "rollout withdraw PATH NAME VERSION", Sets: rollout.Withdraw,
		Short: "Withdraw a version",
		Long: `Excludes a version from all future choices. Locations with the version as an unreached
target abandon it; locations that have reached the version keep it: use rollback for
them.`,
		Example: `  signalbox rollout withdraw /prod dns 18 --reason 'version 18 loses records'`,
		Done:    "the version is withdrawn from rollout NAME",
	},
	{
		Use: "rollout retry PATH NAME [--location]", Sets: rollout.Retry,
		Short: "Retry failed targets",
		Long: `Assigns abandoned, stalled and failing targets again, unless their version is withdrawn.
Retry also ends a halt. Without --location, the command applies to all locations.`,
		Example: `  signalbox rollout retry /prod dns --location man --reason 'the source is back'`,
		Done:    "rollout NAME retries",
	},
}
