package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/client"
)

// maxTokenFile is the maximum token file size in bytes.
const maxTokenFile = 64 << 10

// errTooSlow: the cluster did not answer within the timeout.
var errTooSlow = errors.New("no answer in time")

// tooSlow is the cause if --timeout ended a context.
type tooSlow struct{ after time.Duration }

func (t *tooSlow) Error() string {
	return fmt.Sprintf("no answer within %v; use --timeout to wait longer", t.after)
}

func (t *tooSlow) Is(target error) bool {
	return target == errTooSlow || target == context.DeadlineExceeded
}

// Patience limits a context to a fraction of the timeout.
func Patience(ctx context.Context, part time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, part, &tooSlow{part.Round(100 * time.Millisecond)})
}

// Within limits a context to the timeout.
func (c *Connection) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.Timeout, &tooSlow{c.Timeout})
}

// Open connects to the cluster. The context limits the connection time; the caller must close the client.
func (c *Connection) Open(ctx context.Context) (*client.Client, error) {
	options := []client.Option{client.WithName("signalbox"),
		client.WithDialTimeout(min(c.Timeout, client.DefaultDialTimeout))}
	source, err := c.tokenSource()
	if err != nil {
		return nil, err
	}
	if source != nil {
		options = append(options, client.WithTokenSource(source))
	}
	config, err := c.tlsConfig()
	if err != nil {
		return nil, err
	}
	if config != nil {
		options = append(options, client.WithTLS(config))
	}
	if c.say != nil {
		options = append(options, client.WithHooks(notes{say: c.say}))
	}
	box, err := client.Open(ctx, c.Endpoints(), options...)
	if err != nil {
		return nil, c.notOpened(ctx, err)
	}
	return box, nil
}

// notes prints what a client notices and users should know.
type notes struct {
	client.NoHooks
	say func(format string, args ...any)
}

// LimitMismatch implements client.Hooks.
func (n notes) LimitMismatch(o client.LimitMismatch) {
	n.say("signalbox: %v; to change the limit, run signalbox semaphore resize %s %s", &o, o.Node, o.Name)
}

// notOpened adds to the error for an unreachable cluster what the user can do.
func (c *Connection) notOpened(ctx context.Context, err error) error {
	if WasInterrupted(ctx) {
		return context.Cause(ctx)
	}
	if errors.Is(err, client.ErrUnauthorized) {
		return Errorf(ExitNoRight, "%w; give a token with --token-file or %s", err, TokenVariable)
	}
	if found := c.otherProtocol(ctx); found != "" {
		return Errorf(ExitUnavailable, "open: %s", found)
	}
	if hint := certificateHint(err); hint != "" {
		return Errorf(ExitUnavailable, "%w; %s", err, hint)
	}
	given, more := c.given[settingEndpoints], ""
	switch {
	case strings.Contains(given.Text, "://"):
		more = ", written HOST:PORT"
	case errors.Is(err, syscall.ECONNREFUSED):
		more = ", or start a host here with signalbox serve"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		more = "; use the address given by --listen or --tls-listen"
	}
	return Errorf(ExitUnavailable, "%w; the endpoints are %s (%s); give others with "+
		"--endpoints%s", err, Safe(given.Text),
		Safe(given.From), more)
}

// tokenSource returns the token source, nil without a token.
func (c *Connection) tokenSource() (func(context.Context) (string, error), error) {
	file := c.given[settingTokenFile]
	if c.token != "" {
		if file.From == tokenFileVariable {
			return nil, Errorf(ExitUsage, "%s and %s are both set; unset one of them", TokenVariable, file.From)
		}
		return func(context.Context) (string, error) { return c.token, nil }, nil
	}
	if file.Text == "" {
		return nil, nil
	}
	read := func(context.Context) (string, error) { return readToken(file.Text) }
	if _, err := read(context.Background()); err != nil {
		return nil, c.mistake(settingTokenFile, err.Error())
	}
	return read, nil
}

// readToken reads a file that contains only a token.
func readToken(path string) (string, error) {
	data, err := readSmall(path, maxTokenFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	switch {
	case token == "":
		return "", errors.New("the file is empty; it must contain the token printed by signalbox token generate")
	case strings.ContainsAny(token, " \t\r\n"):
		return "", errors.New("the file must contain one token and nothing else; a file with many hashes is for hosts")
	}
	return token, nil
}

// tlsConfig returns the TLS settings, nil for a cluster without TLS.
func (c *Connection) tlsConfig() (*tls.Config, error) {
	wanted, err := c.tlsWanted()
	if !wanted || err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.given[settingServerName].Text}
	if ca := c.given[settingTLSCA].Text; ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, c.mistake(settingTLSCA, err.Error())
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, c.mistake(settingTLSCA, "the file contains no PEM certificate")
		}
	}
	cert, key := c.given[settingTLSCert].Text, c.given[settingTLSKey].Text
	switch {
	case cert == "" && key == "":
		return config, nil
	case cert == "":
		return nil, c.mistake(settingTLSKey, "the certificate for the key is missing; give it with tls-cert")
	case key == "":
		return nil, c.mistake(settingTLSCert, "the key for the certificate is missing; give it with tls-key")
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return nil, c.mistake(settingTLSCert, err.Error())
	}
	// The key pair is read for every connection, because a command with a lease may outlive its certificate.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}
	return config, nil
}

// outageInterval is the interval at which a long-running command checks that a host answers, and the maximum time to
// wait for the answer.
const outageInterval = 5 * time.Second

// ReportOutages reports when no host answers, and when one answers again, until the context ends. Otherwise a waiting
// command would be silent, because the client keeps trying.
func ReportOutages(ctx context.Context, box *client.Client, say func(format string, args ...any)) {
	ticker := time.NewTicker(outageInterval)
	defer ticker.Stop()
	for silent := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		within, cancel := context.WithTimeout(ctx, outageInterval)
		err := box.Ping(within)
		cancel()
		switch {
		case ctx.Err() != nil, errors.Is(err, client.ErrClosed):
			return
		case err != nil && !silent:
			say("no host answers; still trying")
		case err == nil && silent:
			say("a host answers again")
		}
		silent = err != nil
	}
}
