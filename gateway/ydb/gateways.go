package ydb

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
)

// A cluster has a gateway list: one client/discovery entry per running gateway. Gateways with TLS have a separate list,
// because SDKs that use TLS cannot use gateways without TLS.
const (
	gatewaysNode  = "/signalbox/ydb"
	plainGateways = "gateways"
	tlsGateways   = "gateways-tls"

	locationKey = "location" // in an entry's metadata

	// publishPause is the retry delay for a gateway that is not in the list.
	publishPause = time.Second
)

// publication is a gateway's entry in its cluster's list.
type publication struct {
	own   Endpoint
	token string
	list  atomic.Pointer[[]Endpoint] // latest list; nil if none
	stop  context.CancelFunc
	done  chan struct{} // closed when the gateway has left the list
}

// Publish adds the gateway to its cluster's gateway list, until Drain or Close. From then on, discovery returns the
// list. Publish continues in the background through cluster failures. own is this gateway's address for SDKs; token is
// the gateway's own cluster token. Publish may be called at most once, before the gateway is registered.
func (g *Gateway) Publish(own Endpoint, token string) {
	ctx, stop := context.WithCancel(context.Background())
	p := &publication{own: own, token: token, stop: stop, done: make(chan struct{})}
	g.publication = p
	go func() {
		defer close(p.done)
		for ctx.Err() == nil {
			err := g.publish(ctx, p)
			if ctx.Err() != nil {
				return
			}
			g.config.Log.Warn("the gateway is not in the list of its cluster", "node", gatewaysNode, "error", err)
			select {
			case <-time.After(publishPause):
			case <-ctx.Done():
			}
		}
	}()
}

// publish keeps the gateway in the list, and follows the list, until the context ends or a failure.
func (g *Gateway) publish(ctx context.Context, p *publication) (err error) {
	c, err := g.config.Open(ctx, p.token)
	if err != nil {
		return err
	}
	defer c.Close() // takes the entry back with the session
	s, err := gatewaysSession(ctx, c)
	if err != nil {
		return err
	}
	name := plainGateways
	if g.config.Secure {
		name = tlsGateways
	}
	entry := discovery.Endpoint{Address: net.JoinHostPort(p.own.Address, strconv.Itoa(int(p.own.Port)))}
	if p.own.Location != "" {
		entry.Metadata = map[string]string{locationKey: p.own.Location}
	}
	r, err := discovery.Register(ctx, s, name, entry)
	if err != nil {
		return err
	}
	err = discovery.Follow(ctx, c, gatewaysNode, name, func(all []discovery.Endpoint) {
		p.list.Store(new(endpointsOf(all)))
	})
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	return errors.Join(err, r.Close(leaving), s.Close(leaving))
}

// gatewaysSession starts a session in the list's node, and creates the node if necessary.
func gatewaysSession(ctx context.Context, c *client.Client) (*client.Session, error) {
	s, err := c.Session(ctx, gatewaysNode, client.Description("signalbox-ydb"), client.Recreate())
	if !errors.Is(err, client.ErrNotFound) {
		return s, err
	}
	_, err = c.CreateNode(ctx, gatewaysNode, client.NodeConfig{})
	if err != nil && !errors.Is(err, client.ErrAlreadyExists) {
		return nil, err
	}
	return c.Session(ctx, gatewaysNode, client.Description("signalbox-ydb"), client.Recreate())
}

// endpointsOf leaves out entries without a valid address.
func endpointsOf(entries []discovery.Endpoint) (list []Endpoint) {
	for _, e := range entries {
		host, port, err := net.SplitHostPort(e.Address)
		if n, bad := strconv.ParseUint(port, 10, 16); err == nil && bad == nil && host != "" && n > 0 {
			list = append(list, Endpoint{Address: host, Port: uint32(n), Location: e.Metadata[locationKey]})
		}
	}
	return list
}

// known returns the listed gateways; leaves excludes the gateway itself.
func (p *publication) known(leaves bool) (list []Endpoint) {
	if p == nil || p.list.Load() == nil {
		return nil
	}
	for _, e := range *p.list.Load() {
		if !leaves || e != p.own {
			list = append(list, e)
		}
	}
	return list
}

// end takes the gateway from the list. end returns when the entry is gone for all readers, or with the context.
func (p *publication) end(ctx context.Context) {
	if p == nil {
		return
	}
	p.stop()
	select {
	case <-p.done:
	case <-ctx.Done():
	}
}
