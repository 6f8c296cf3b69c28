package loadgen

import "context"

var echoKind = &kind{
	Info: Info{
		Name:      "echo",
		Summary:   "pings, which no log and no disk has a part in: what connections alone can do",
		Operation: "one ping answered",
		Checks:    "that it is answered",
	},
	make: func() workload { return &echo{} }, mixes: true,
}

type echo struct {
	plain
	run *run
}

func (w *echo) prepare(_ context.Context, r *run) error {
	w.run = r
	return nil
}

func (w *echo) caller(i int) operation { return w.run.fleet.client(i).Ping }
