package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	"github.com/signalbox/signalbox/client"
)

// Certificates calls f with the certificate that each of the endpoints shows, good or not, or with why there is
// none. Where the cluster is reached without TLS it does nothing.
func (c *Connection) Certificates(ctx context.Context,
	f func(endpoint string, shown *x509.Certificate, err error)) error {
	config, err := c.tlsConfig()
	if config == nil || err != nil {
		return err
	}
	config.InsecureSkipVerify = true // it is looked at, and nothing is given over the connection
	for endpoint := range strings.SplitSeq(c.Endpoints(), ",") {
		if endpoint = strings.TrimSpace(endpoint); endpoint != "" {
			shown, err := certificateOf(ctx, endpoint, config)
			f(endpoint, shown, err)
		}
	}
	return nil
}

func certificateOf(ctx context.Context, endpoint string, config *tls.Config) (*x509.Certificate, error) {
	if _, _, err := net.SplitHostPort(endpoint); err != nil {
		endpoint = net.JoinHostPort(endpoint, client.DefaultPort)
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	shown := conn.(*tls.Conn).ConnectionState().PeerCertificates
	if len(shown) == 0 {
		return nil, errors.New("it shows no certificate")
	}
	return shown[0], nil
}

// certificateHint says what to do where one side does not accept the certificate of the other, nothing where that is
// not why a host cannot be reached. What the other side refuses is known by its text only.
func certificateHint(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "--tls-ca names the file with the authority that signed the certificates of the hosts"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "--endpoints gives the host by a name in its certificate, or --tls-server-name says which name to expect"
	}
	text := err.Error()
	for _, refusal := range []string{"certificate required", "bad certificate", "unknown certificate authority"} {
		if strings.Contains(text, "remote error: tls: "+refusal) {
			return "the host lets in clients whose certificate its --tls-client-ca signed: --tls-cert and --tls-key " +
				"give one"
		}
	}
	return ""
}
