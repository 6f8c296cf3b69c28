// Package chaos lets real hosts and real clients work while somebody takes the cluster apart, for as long as one
// likes: three processes of signalbox serve on this machine, clients that use the SDK, some of them processes of
// their own, and a nemesis that kills, stops, cuts, delays and fills disks by a plan that is drawn from a seed.
// Every connection, between clients and hosts and between hosts, runs through a Link, which is where a network is
// made bad.
//
// A run is a series of acts. In an act programs work in a node of their own, with semaphores of their own, while
// faults begin and end; then everything is healed, what there is in the end is read strictly, and the history of
// the act is judged by the rules of test/history. So a run that takes hours is judged as it goes.
//
// A seed fixes the plans of all acts: which faults, when, for how long, on which hosts, and what programs try. It
// does not fix what real processes, disks and schedulers do about it.
//
// The package works on Linux only. docs/testing.md says what is covered and how to run it.
package chaos
