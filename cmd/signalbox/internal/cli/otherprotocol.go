package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
)

// probeWithin is the time limit for probing an unusable endpoint's protocol.
const probeWithin = time.Second

// spoken is an endpoint's protocol.
type spoken int

const (
	spokenUnknown spoken = iota
	spokenTLS
	spokenHTTP
	spokenOther // neither protocol
)

// otherProtocol checks whether an unusable endpoint uses a protocol the command does not expect, and returns advice.
// The text is empty if the protocol is right.
func (c *Connection) otherProtocol(ctx context.Context) string {
	wanted, err := c.tlsWanted()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeWithin)
	defer cancel()
	for endpoint := range strings.SplitSeq(c.Endpoints(), ",") {
		switch speaks := probe(ctx, strings.TrimSpace(endpoint)); {
		case speaks == spokenHTTP:
			return fmt.Sprintf("%s speaks HTTP, as a host's admin address does; use the address given by "+
				"--listen or --tls-listen", Safe(endpoint))
		case speaks == spokenTLS && !wanted:
			return fmt.Sprintf("%s requires TLS; use --tls, and give the CA of the hosts with --tls-ca", Safe(endpoint))
		case speaks == spokenOther && wanted:
			return fmt.Sprintf("%s does not speak TLS, but this command does (%s); use --tls=false, or give the "+
				"address of --tls-listen with --endpoints",
				Safe(endpoint), Safe(c.tlsFrom()))
		}
	}
	return ""
}

// tlsFrom returns the source of the setting that enables TLS.
func (c *Connection) tlsFrom() string {
	for _, s := range settings {
		if given := c.given[s.name]; strings.HasPrefix(s.name, settingTLS) && given.Text != "" {
			return given.From
		}
	}
	return fromDefault
}

// probe begins a TLS handshake, and examines the answer. HTTP servers answer in plain text.
func probe(ctx context.Context, endpoint string) spoken {
	if _, _, err := net.SplitHostPort(endpoint); err != nil {
		endpoint = net.JoinHostPort(endpoint, client.DefaultPort)
	}
	// No certificate is checked, because nothing is sent over the connection.
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", endpoint)
	if err == nil {
		_ = conn.Close()
		return spokenTLS
	}
	if header, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		if string(header.RecordHeader[:]) == "HTTP/" {
			return spokenHTTP
		}
		return spokenOther
	}
	if _, alert := errors.AsType[tls.AlertError](err); alert {
		return spokenTLS
	}
	return spokenUnknown
}
