//go:build unix

package election_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
	"github.com/signalbox/signalbox/server/servertest/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// patience bounds the wait for a process.
const patience = time.Minute

func TestACandidateThatStoodStillContendsAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	dir := t.TempDir()
	program, err := process.Build(dir)
	clienttest.Check(t, err)
	places, err := process.Places(program, dir, []string{"a"})
	clienttest.Check(t, err)
	host, err := places[0].Start()
	clienttest.Check(t, err)
	defer host.Kill()
	clienttest.Check(t, host.AwaitReady(patience))

	addresses := strings.Join(process.Addresses(places), ",")
	c, err := client.Open(t.Context(), addresses)
	clienttest.Check(t, err)
	defer c.Close()
	_, err = c.CreateNode(t.Context(), path, client.NodeConfig{})
	clienttest.Check(t, err)
	s, err := c.Session(t.Context(), path)
	clienttest.Check(t, err)

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), candidateVariable+"="+addresses, "GOMAXPROCS=1")
	other, err := process.Launch("candidate", cmd)
	clienttest.Check(t, err)
	defer other.Kill()
	led := 0 // number of terms; on a slow machine the session may also expire without a pause
	for range 3 {
		terms := func() int { return strings.Count(other.Output(), "term") }
		if err := other.AwaitOutput("it leads", patience, func() bool { return terms() > led }); err != nil {
			t.Fatalf("%v; it said:\n%s", err, other.Output())
		}
		clienttest.Check(t, other.Pause())
		led = terms()
		// This candidate leads after the paused process's session has expired.
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := election.Run(ctx, s, name, nil, func(context.Context, election.Term) error {
			return other.Signal(syscall.SIGCONT)
		}, election.Once())
		cancel()
		clienttest.Check(t, err)
	}
}
