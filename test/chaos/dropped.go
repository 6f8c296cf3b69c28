//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
)

// droppedTimeout is that of sessions in nodes that are dropped.
const droppedTimeout = 10 * time.Second

// dropped is a node that was dropped while somebody owned something in it.
type dropped struct {
	path    string
	session *client.Session
	lease   *client.Lease
}

// comeAndGo makes a node, owns something in it, and drops it.
func (s *stage) comeAndGo(ctx context.Context, n uint64) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	d := dropped{path: fmt.Sprintf("%s-%d", s.node, n)}
	if _, err := s.direct.CreateNode(ctx, d.path, client.NodeConfig{SelfCheckPeriod: selfCheck, SessionGracePeriod: s.grace}); err != nil {
		return
	}
	var err error
	if d.session, err = s.direct.Session(ctx, d.path, client.SessionTimeout(droppedTimeout)); err != nil {
		return
	}
	if d.lease, err = d.session.Ephemeral("lock").Lock(ctx); err != nil || s.direct.DropNode(ctx, d.path) != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = d.session.Close(closing) // or it ends with the client
		return
	}
	s.dropped = append(s.dropped, d)
}

// ghosts says what lives on of nodes that were dropped, empty if nothing does.
func (s *stage) ghosts(ctx context.Context) (wrong string) {
	for _, d := range s.dropped {
		switch _, err := s.direct.DescribeNode(ctx, d.path); {
		case !errors.Is(err, client.ErrNodeNotFound):
			return fmt.Sprintf("node %s was dropped, and is described: %v", d.path, err)
		case d.session.Context().Err() == nil:
			return fmt.Sprintf("session %x lives on, and its node %s was dropped", d.session.ID(), d.path)
		case d.lease.Err() == nil:
			return fmt.Sprintf("a lease of session %x lives on, and its node %s was dropped", d.lease.Session(), d.path)
		}
	}
	return ""
}
