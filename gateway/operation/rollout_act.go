package operation

import "github.com/signalbox/signalbox/client/rollout"

// rolloutActs are the commands for acts, in the order in which an operator may need them. A command sets the verb.
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
		Long: `Ends a pause and a halt. Deadlines start again, and so do the attempts after which a
target is abandoned.`,
		Example: `  signalbox rollout resume /prod dns --reason 'the errors are gone'`,
		Done:    "rollout NAME goes on",
	},
	{
		Use: "rollout promote PATH NAME [--location] [--to]", Sets: rollout.Promote,
		Short: "Promote a version without waiting for delays, gates and leaders",
		Long: `Assigns a version to locations without waiting for delays, gates and earlier locations.
Without --to, each location gets the version that it would get next if no delay were
left. A location that already has the version counts as having reached it. Without
--location, all locations that are not bypassed.`,
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
		Done:    "rollout NAME is aborted, and halted; signalbox rollout resume lets it go on",
	},
	{
		Use: "rollout rollback PATH NAME [--location] --to [--all-at-once]", Sets: rollout.Rollback,
		Short: "Roll back to a version",
		Long: `Returns locations to a version, in their order and with their delays, or with
--all-at-once all at once. They do not get the newer versions that exist now; versions
that are published later are delivered again. Without --location, all locations. It
works while the rollout is paused or halted.`,
		Example: `  signalbox rollout rollback /prod dns --to 17 --all-at-once --reason 'version 18 loses records'`,
		Done:    "rollout NAME goes back",
	},
	{
		Use: "rollout bypass PATH NAME --location", Sets: rollout.Bypass,
		Short: "Take locations out of the order",
		Long: `Takes locations out of the order: they keep their versions, and the next locations follow
the ones before, with the delays of both. Use it for a location that is drained or
unreachable.`,
		Example: `  signalbox rollout bypass /prod dns --location man --reason 'man is drained'`,
		Done:    "rollout NAME goes on without them",
	},
	{
		Use: "rollout unbypass PATH NAME --location", Sets: rollout.Unbypass,
		Short:   "Put locations back into the order",
		Long:    "Puts bypassed locations back into the order.",
		Example: `  signalbox rollout unbypass /prod dns --location man --reason 'man is back'`,
		Done:    "rollout NAME goes on with them",
	},
	{
		Use: "rollout withdraw PATH NAME VERSION", Sets: rollout.Withdraw,
		Short: "Withdraw a version",
		Long: `Excludes a version from all future choices. Locations that have it as an unreached target
abandon it; locations that have reached it keep it: use rollback for those.`,
		Example: `  signalbox rollout withdraw /prod dns 18 --reason 'version 18 loses records'`,
		Done:    "the version is withdrawn from rollout NAME",
	},
	{
		Use: "rollout retry PATH NAME [--location]", Sets: rollout.Retry,
		Short: "Retry failed targets",
		Long: `Assigns abandoned, stalled and failing targets again, unless their version is withdrawn.
It ends a halt. Without --location, all locations.`,
		Example: `  signalbox rollout retry /prod dns --location man --reason 'the source is back'`,
		Done:    "rollout NAME tries again",
	},
}
