package pair

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// Child is a side in a separate process, for example from a different build.
type Child struct {
	asks    io.WriteCloser
	answers *bufio.Reader
	wait    func() error
}

var _ Side = (*Child)(nil)

// Launch starts a process that calls Obey. When the context ends, the process is killed. Its errors go to this
// process's error output.
func Launch(ctx context.Context, program string, args ...string) (*Child, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	subprocess.OwnGroup(cmd)
	asks, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := subprocess.Start(cmd); err != nil {
		return nil, fmt.Errorf("start a side: %w", err)
	}
	return newChild(asks, answers, cmd.Wait), nil
}

func newChild(asks io.WriteCloser, answers io.Reader, wait func() error) *Child {
	return &Child{asks, bufio.NewReader(answers), wait}
}

// Turn implements Side.
func (c *Child) Turn(d time.Duration) (done int64, took time.Duration, err error) {
	if _, err = fmt.Fprintln(c.asks, d.Nanoseconds()); err == nil {
		_, err = fmt.Fscanln(c.answers, &done, &took)
	}
	if err != nil {
		err = fmt.Errorf("a side in a process of its own: %w", err)
	}
	return done, took, err
}

// Stop ends the process.
func (c *Child) Stop() error {
	_ = c.asks.Close()
	return c.wait()
}

// Obey lets a side take the turns that another process requests, until the requests end.
func Obey(side Side, asks io.Reader, answers io.Writer) error {
	for in := bufio.NewReader(asks); ; {
		var d time.Duration
		if _, err := fmt.Fscanln(in, &d); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("be a side: %w", err)
		}
		done, took, err := side.Turn(d)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(answers, done, took.Nanoseconds()); err != nil {
			return err
		}
	}
}
