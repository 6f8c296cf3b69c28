// Package plan decides and records changes one at a time. Rules look at a state and at a leader's observations, and
// return one typed step or the reasons why there is none. The package has the step record, its compare-and-set, its
// backoff, the dry run, and the reasons why nothing happens; hosts, rollouts and groups have their own rules.
//
// The package has two halves, both deterministic: no clock, no I/O, no goroutine.
//
//   - A Planner is a list of rules. Its method Next runs at the leader, on a View of state and observations, and only
//     reads. The leader proposes the decision as a command.
//   - A Plan is the replicated record of the open steps. The plan belongs to a state machine, which calls Begin,
//     Progress, Retry, Fail, Done, Drop and Cancel as it applies commands, with its clock's time and term.
//
// Between the two halves is an executor, which belongs to the leader and does the steps' work. An executor's contract:
//
//   - The executor asks Assess for its advice on each open step, with its newest view. On Perform the executor acts.
//     On Report, Finish and Drop it proposes a command with the step's Act, which names id, phase, failures and term.
//   - The executor reports only visible facts, never its own acts. So an executor may die before an act, between the
//     act and the report, and after the report: the next executor sees the act's effect, and continues from there.
//   - An act may happen twice, and may come late: after the step is over, and after a new step has begun. So the
//     object being changed has a compare-and-set of its own (a membership has its change id), and the executor reads
//     it before Assess.
//   - The executor reports a failed attempt as Retry, which keeps the step and its subjects, or as Fail, which ends
//     the step, so that the rules decide again. In both cases the subject waits, twice as long each time.
//
// Every plan keeps these rules:
//
//   - Two open steps share no subject, and no more steps are open than the config allows.
//   - An act changes something at most once, only in its leader's term, and only if the step is still as the
//     executor read it. Any other act changes nothing, and its Outcome gives the reason. So late, repeated and
//     reordered reports are harmless.
//   - Failures are counted for the subject until its next success: cancelling, superseding or beginning a step again
//     does not shorten a back-off. Only an operator does (Forget).
//
// Caveats. A step that ended in the middle may leave effects for the rules to see, so rules decide by the state, not by
// their own earlier steps. A rule that proposes the same step repeatedly while nothing changes is a bug a plan cannot
// detect; a dry run shows the bug. Only reported failures are counted: an executor that dies in its act counts for
// nothing, even if the act itself ends the executor each time.
//
// Start reading at rule.go (decisions), plan.go (the record) and executor.go (the part between the two).
package plan
