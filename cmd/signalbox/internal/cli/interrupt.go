package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// SameSignal is the time after the first signal within which a second one counts as a repetition: a supervisor such
// as timeout often signals the process and then its group.
const SameSignal = 300 * time.Millisecond

// Interrupted is the cause if a signal ended a context.
type Interrupted struct{ Signal os.Signal }

// Error names the signal.
func (i *Interrupted) Error() string { return fmt.Sprintf("stopped by a signal (%v)", i.Signal) }

// Code returns the shell's exit code for a process the signal ended.
func (i *Interrupted) Code() int { return SignalCode(i.Signal) }

// SignalCode returns the shell's exit code for a process a signal ended.
func SignalCode(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return ExitSignal + int(number)
	}
	return ExitFailed
}

// WasInterrupted reports whether a signal ended the context.
func WasInterrupted(ctx context.Context) bool {
	_, ok := errors.AsType[*Interrupted](context.Cause(ctx))
	return ok
}

// UntilInterrupted returns a context that ends at SIGINT, SIGTERM or SIGHUP, with *Interrupted as its cause. A second
// signal, slightly later, ends the process immediately. While the context is in use, a closed standard output makes
// writes fail instead of ending the process, so that held resources can be released.
func UntilInterrupted(ctx context.Context) (interrupted context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, pipes := make(chan os.Signal, 2), make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // for nohup, and for background processes in scripts
			signal.Notify(signals, s)
		}
	}
	signal.Notify(pipes, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case got := <-signals:
				if first.IsZero() {
					first = time.Now()
					cancel(&Interrupted{got})
				} else if time.Since(first) > SameSignal {
					os.Exit(SignalCode(got))
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipes)
		close(done)
		cancel(nil)
	}
}

// SleepFor waits, and returns false if the context ended.
func SleepFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// OrInterrupted returns the signal that ended the context, or else the error.
func OrInterrupted(ctx context.Context, err error) error {
	if by, ok := errors.AsType[*Interrupted](context.Cause(ctx)); ok {
		return by
	}
	return err
}
