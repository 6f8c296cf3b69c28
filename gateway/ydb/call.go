package ydb

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/signalbox/signalbox/internal/fairshare"
	"github.com/signalbox/signalbox/protocol/session"
)

// call identifies a request's caller and origin.
type call struct {
	ticket   string
	database string
	address  string // without the port
	local    bool   // the call comes from this machine
	program  string // the program in the SDK's own words, with the process
	from     *connection
}

// ticketHeader contains a call's ticket.
const ticketHeader = "x-ydb-auth-ticket"

// callOf reads the caller from a call's metadata, and rejects a ticket that others could read in transit.
func (g *Gateway) callOf(ctx context.Context) (c call, err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	first := func(name string) string {
		if v := md.Get(name); len(v) > 0 {
			return v[0]
		}
		return ""
	}
	c = call{
		ticket: first(ticketHeader), database: strings.TrimSuffix(pathOf(first("x-ydb-database")), "/"),
		program: programOf(first("x-ydb-sdk-build-info"), first("x-ydb-client-pid")),
	}
	if p, ok := peer.FromContext(ctx); ok {
		if known, is := p.Addr.(*clientAddr); is {
			c.from = known.conn
		}
		c.address = hostOf(p.Addr)
		c.local = net.ParseIP(c.address).IsLoopback()
	}
	return c, g.maySend(&c, c.ticket)
}

// party returns the calling party, by an accepted ticket or without a ticket.
func (c *call) party(ticket string) fairshare.Party {
	address, _ := netip.ParseAddr(c.address)
	return fairshare.Party{Token: ticket, Address: fairshare.Network(address.Unmap())}
}

// maxClaimBytes is the maximum length shown from a program-supplied header.
const maxClaimBytes = 64

// programOf returns a program's own words about itself, for people.
func programOf(sdk, process string) string {
	clean := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1
			}
			return r
		}, s)
		return s[:min(len(s), maxClaimBytes)]
	}
	program := cmp.Or(clean(sdk), "a program")
	if process = clean(process); process != "" {
		program += ", process " + process
	}
	return program
}

// describe adds the program and its address to a session description. Hosts see the gateway's address and show it as
// the session's client address. Text from a gateway or a program belongs in the description, which every client may
// fill freely.
func (c *call) describe(description string) string {
	whose := c.program + ", at " + c.address
	if description != "" {
		whose = description + " (" + whose + ")"
	}
	if len(whose) > session.MaxDescription {
		return description
	}
	return whose
}

// maySend rejects a ticket that others could read in transit.
func (g *Gateway) maySend(c *call, ticket string) error {
	if ticket == "" || g.config.Secure || g.config.PlainTickets || c.local {
		return nil
	}
	return &failed{Ydb.StatusIds_UNAUTHORIZED, "a ticket came over a connection without TLS"}
}

// pathOf converts a path to the cluster's form: YDB accepts additional slashes and a missing first slash.
func pathOf(p string) string {
	return "/" + strings.Join(strings.FieldsFunc(p, func(r rune) bool { return r == '/' }), "/")
}

// below returns whether a path is inside the call's database. A call without a database reaches all paths.
func (c *call) below(path string) bool {
	return c.database == "" || strings.HasPrefix(path, c.database+"/") && len(path) > len(c.database)+1
}

// withTimeout limits a call by its operation params.
func withTimeout(
	ctx context.Context, p *Ydb_Operations.OperationParams,
) (context.Context, context.CancelFunc) {
	if d := p.GetOperationTimeout(); d != nil && d.AsDuration() > 0 {
		return context.WithTimeout(ctx, d.AsDuration())
	}
	return context.WithCancel(ctx)
}
