// Package plan decides and records what is to be changed next: rules look at a state and at what a leader observes, and
// give one typed step, or the reasons why there is none. Hosts, rollouts and groups have rules of their own; the
// record of a step, its compare-and-set, its back-off, the dry run and the answer to "why does nothing move" are these.
//
// It has two halves, and both are pure: no clock, no I/O, no goroutine.
//
//   - A Planner is a list of rules. Its Next runs at the leader, by a View of state and observations, and only reads.
//     What it decides becomes a command that the leader proposes.
//   - A Plan is the replicated record of the steps that are open. It belongs to a state machine, which calls Begin,
//     Progress, Retry, Fail, Done, Drop and Cancel as it applies commands, with the time and the term of its clock.
//
// Between the two stands an executor, which belongs to the leader and does what steps ask for. This is its contract:
//
//   - It asks Assess what to do about each open step, by the newest view that it has. Perform is for it to act; Report,
//     Finish and Drop are for it to propose a command with the step's Act, which names id, phase, failures and term.
//   - It reports only what can be seen, never what it has done. So it may die before an act, between the act and the
//     report, and after it: the next executor sees what was done, and goes on from there.
//   - What it does for a step can be done twice, and can come late: after the step is over, and after another has
//     begun. So what it changes has a compare-and-set of its own (a membership has its change id), and it reads that
//     before it assesses.
//   - What goes wrong it reports as Retry, which keeps the step and what it occupies, or as Fail, which ends the step,
//     so that the rules decide anew. In both cases the subject waits, twice as long each time.
//
// What is true of every plan:
//
//   - Two steps that are open share no subject, and no more are open than the config allows.
//   - An act changes something once at most, only in the term of its leader, and only if the step is still as the
//     executor read it. All others change nothing, and their Outcome says why. So late, repeated and reordered
//     reports are harmless.
//   - Failures are counted for the subject until it has a success: a step that is cancelled, superseded or begun again
//     does not shorten a back-off. Only an operator does (Forget).
//
// Caveats: what a step that ended in the middle has left behind is for the rules to see, so rules go by what there is,
// not by the steps that they proposed before. A rule that proposes the same step again and again while nothing changes
// is a mistake that a plan cannot see; a dry run shows it. Only failures that were reported are counted: an executor
// that dies in its act counts for nothing, even where the act itself ends it each time.
//
// Start reading at rule.go (what decides), plan.go (what is recorded) and executor.go (what goes between).
package plan
