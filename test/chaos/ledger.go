//go:build linux

package chaos

import (
	"context"
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// compare says how the ledger differs from what its programs know of it, empty if it does not: what was
// acknowledged has to be there in the end, and nothing that was refused.
func (s *stage) compare(ctx context.Context, known map[string]history.Operation) (wrong string) {
	there := make(map[string]string)
	for x, err := range s.direct.Node(s.node).Semaphores(ctx, client.Prefix(workload.Ledger), client.WithData()) {
		if err != nil {
			return fmt.Sprintf("the ledger cannot be read: %v", err)
		}
		there[x.Name] = string(x.Data)
	}
	for name, o := range known {
		data, ok := there[name]
		switch {
		case ok && data != o.Data:
			return fmt.Sprintf("%s has %q, and was made with %q", name, data, o.Data)
		case !ok && o.Outcome == history.Done:
			return fmt.Sprintf("%s is not there, though that was acknowledged at %v", name, o.Returned)
		case ok && o.Outcome != history.Done && o.Outcome != history.Unknown && o.Outcome != "":
			return fmt.Sprintf("%s is there, though that was refused at %v: %s", name, o.Returned, o.Error)
		}
		delete(there, name)
	}
	for name := range there {
		return fmt.Sprintf("%s is there, and nobody made it", name)
	}
	return ""
}

// ledger are the entries of the ledger that programs made, or tried to.
func (j *journal) ledger() map[string]history.Operation {
	j.mu.Lock()
	defer j.mu.Unlock()
	known := make(map[string]history.Operation)
	for _, o := range j.operations {
		if o.Kind == history.Create && strings.HasPrefix(o.Semaphore.Name, workload.Ledger) {
			known[o.Semaphore.Name] = o
		}
	}
	return known
}
