package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/shard"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// leadsPrefix is the prefix of requests by which a host announces the shards it leads. A build without announcements
// answers with an error that has no effect on either host.
const leadsPrefix = `{"leads":`

// leadsRequest is a request with leadsPrefix.
type leadsRequest struct {
	Leads []server.Led `json:"leads"`
}

// leadsNoted is the log message for a received announcement.
const leadsNoted = "a host announced the shards that it leads"

var errNoPeer = errors.New("only cluster members may announce the shards that they lead")

func isLeads(request []byte) bool { return strings.HasPrefix(string(request), leadsPrefix) }

// announceLed announces the shards the host leads to all hosts.
func (h *Host) announceLed() {
	if peers := h.peers.Load(); peers != nil {
		for _, to := range peers.Hosts() {
			h.announceLedTo(to.ID)
		}
	}
}

// announceLedTo announces the shards the local host leads to one host. After a failure, the announcement is repeated
// with the next leadership change and with the next connection to the host.
func (h *Host) announceLedTo(to shard.HostID) {
	core, peers := h.core.Load(), h.peers.Load()
	if core == nil || peers == nil || to == peers.Identity().Host {
		return
	}
	led := core.Led()
	if len(led) == 0 {
		return
	}
	request, err := json.Marshal(leadsRequest{Leads: led})
	if err != nil {
		h.log.Error("encode the shards that the host leads", "error", err)
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(h.ctx, askWithin)
		defer cancel()
		_, _ = peers.Call(ctx, to, request)
	}()
}

// answerLed records the shards a remote host leads.
func (h *Host) answerLed(peer *rafttransport.Peer, request []byte) ([]byte, error) {
	core := h.core.Load()
	switch {
	case !peer.Named():
		return nil, errNoPeer
	case core == nil:
		return nil, errStarting
	}
	var r leadsRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	core.NoteLed(peer.Host, r.Leads)
	h.log.Debug(leadsNoted, "host", uint64(peer.Host), "shards", len(r.Leads))
	return []byte(`{}`), nil
}
