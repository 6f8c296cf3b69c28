package limiter_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/limiter"
	"github.com/signalbox/signalbox/server/servertest/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// workUntilInputEnds has 50 goroutines contend for five slots.
func workUntilInputEnds(addresses string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := client.Open(ctx, addresses)
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := limiter.New(c, path, name, 5)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for ctx.Err() == nil {
				err := l.Do(ctx, func(context.Context, uint64) error { time.Sleep(5 * time.Millisecond); return nil })
				if err != nil && ctx.Err() == nil {
					fmt.Println("a worker:", err)
					os.Exit(1)
				}
			}
		})
	}
	fmt.Println("at work")
	_, err = io.Copy(io.Discard, os.Stdin)
	cancel()
	all.Wait()
	return err
}

func TestThreeProcessesFillAllSlots(t *testing.T) {
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
	clienttest.Check(t, host.AwaitReady(time.Minute))
	addresses := strings.Join(process.Addresses(places), ",")
	c, err := client.Open(t.Context(), addresses)
	clienttest.Check(t, err)
	defer c.Close()
	_, err = c.CreateNode(t.Context(), path, client.NodeConfig{})
	clienttest.Check(t, err)

	var workers []*process.Process
	var inputs []io.WriteCloser
	for i := range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerVariable+"="+addresses)
		in, err := cmd.StdinPipe()
		clienttest.Check(t, err)
		w, err := process.Launch(fmt.Sprint("worker ", i), cmd)
		clienttest.Check(t, err)
		defer w.Kill()
		clienttest.Check(t, w.AwaitOutput("it works", time.Minute, func() bool { return w.Output() != "" }))
		workers, inputs = append(workers, w), append(inputs, in)
	}
	full, seen := 0, make(map[uint64]bool)
	for view, err := range c.Node(path).Watch(t.Context(), name) {
		clienttest.Check(t, err)
		if view.Count() > 5 {
			t.Fatalf("%d of 5 slots are taken", view.Count())
		}
		if view.Count() == 5 {
			full++
		}
		for o := range view.Owners() {
			seen[o.SessionID] = true
		}
		if full >= 20 && len(seen) > 50 { // so more than one process has had slots
			break
		}
	}
	for i, w := range workers {
		clienttest.Check(t, inputs[i].Close())
		if code, err := w.Wait(time.Minute); code != 0 || err != nil {
			t.Errorf("worker %d: %d, %v: %s %s", i, code, err, w.Output(), w.Errors())
		}
	}
}
