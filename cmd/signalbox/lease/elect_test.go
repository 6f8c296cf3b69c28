package lease

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/child"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestWhatIsSaidOfALossSaysWhatBecameOfTheCommand(t *testing.T) {
	for want, out := range map[string]child.Outcome{
		"the command was not run":         {NotRun: true},
		"the command ended after SIGTERM": {},
		"the command was killed":          {Killed: true},
	} {
		out.Lost = client.ErrLeaseLost
		if err := lossOf("the lock x", out); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%+v: %v", out, err)
		}
	}
}

func TestTheTimeInTheQueueIsNoPartOfATerm(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t)
	box, err := client.Open(t.Context(), srv.Addresses(), client.WithDialer(srv.Dial))
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if _, err := box.CreateNode(t.Context(), "/jobs", client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	s, err := box.Session(t.Context(), "/jobs")
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Semaphore("boss", client.Limit(1)).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := cli.NewFrame(cli.Streams{Out: io.Discard, Err: io.Discard})
	e := &electCommand{leaseRunner: leaseRunner{
		Runner: runner.Runner{Frame: f, Argv: []string{"true"}, Program: "/bin/true"},
		path:   "/jobs", name: "boss", timeout: client.DefaultSessionTimeout}}
	own, err := box.Session(t.Context(), "/jobs")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	const queued = 2 * time.Second
	time.AfterFunc(queued, func() { _ = before.Release(t.Context()) })
	ran, over, err := e.term(t.Context(), own)
	if took := time.Since(began); err != nil || over || took < queued || ran > took-queued+queued/2 {
		t.Errorf("it ran for %v, after all of %v; over %v, %v", ran, took, over, err)
	}
}
