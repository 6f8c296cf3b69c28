package http

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol"
)

// HostStatus is a host's status, with its load in the common form.
type HostStatus struct {
	client.HostStatus
	Load *Load `about:"Recent load. Absent if the host does not report it"`
}

// NewHostStatus returns the API's answer about a host.
func NewHostStatus(of *client.HostStatus) HostStatus {
	h := HostStatus{HostStatus: *of}
	if of.Load != nil {
		h.Load = new(newLoad(of.Load))
	}
	return h
}

// clusterRoutes are about all hosts, and about backups.
func clusterRoutes() []route {
	return []route{
		answering(get, "/hosts", "Hosts", "read", "Returns every host's status",
			func(ctx context.Context, c *call, _ *operation.None) (l operation.List[HostStatus], err error) {
				hosts, err := c.caller.Status(ctx)
				for i := range hosts {
					l.Items = append(l.Items, NewHostStatus(&hosts[i]))
				}
				return l, err
			}),
		stream(post, "/backup", "History and backups", "backup",
			"Returns a backup of all shards as a file; a truncated file is useless", "application/octet-stream",
			backup),
	}
}

const (
	// backupTimeout is the maximum duration for a backup, and backupWrite for writing one chunk.
	backupTimeout = time.Hour
	backupWrite   = time.Minute
)

// backup writes a backup. An error before the first byte is an answer; a later error breaks the connection, so no
// reader takes a part for the whole.
func backup(c *call, _ *operation.None) error {
	ctx, cancel := context.WithTimeout(c.r.Context(), backupTimeout)
	defer cancel()
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{})
	w := &backupWriter{w: c.w, control: control}
	_, err := admin.New(c.caller.Client).Backup(ctx, w, nil)
	switch {
	case err == nil && !w.begun:
		return refuse(protocol.StatusInternal, io.ErrUnexpectedEOF.Error())
	case err == nil, !w.begun:
		return err
	}
	c.gateway.log.Warn("a backup over HTTP was aborted", "error", err)
	panic(http.ErrAbortHandler)
}

// backupWriter sends headers with the first byte, and gives the reader time for every part.
type backupWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// Write implements io.Writer.
func (b *backupWriter) Write(part []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.w.Header().Set("Content-Type", "application/octet-stream")
		b.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="signalbox-%s.backup"`,
			time.Now().UTC().Format("20060102T150405Z")))
		b.w.Header().Set("Cache-Control", "no-store")
	}
	_ = b.control.SetWriteDeadline(time.Now().Add(backupWrite))
	return b.w.Write(part)
}
