package election

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestATermThatIsLostByTheClockIsEndedByWhatErrSays: after a pause a process can find its lock lost by the clock before
// the context has ended. A context with its values that is never cancelled stays in this state.
func TestATermThatIsLostByTheClockIsEndedByWhatErrSays(t *testing.T) {
	clienttest.Play(t, 1, func(t *testing.T, g *clienttest.Stage) {
		s := g.Session()
		own := errors.New("the disk is full")
		err := lock.Do(t.Context(), s, "leader", func(ctx context.Context, fence uint64) error {
			term := Term{Fence: fence, Context: context.WithoutCancel(ctx)}
			if term.endedBy(ErrLost) || term.endedBy(own) {
				t.Error("the term goes on, and an error has ended it")
			}
			g.Destroy(s)
			synctest.Wait()
			if term.Context.Err() != nil {
				t.Fatal("the context has ended")
			}
			err := term.Err()
			if !errors.Is(err, ErrLost) || !term.endedBy(err) {
				t.Errorf("the term has not ended by %v", err)
			}
			if !term.endedBy(client.ErrSessionExpired) || term.endedBy(own) {
				t.Error("the errors of the client end a term that is over, others do not")
			}
			return err
		})
		if !errors.Is(err, ErrLost) {
			t.Error(err)
		}
	})
}
