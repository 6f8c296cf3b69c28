package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/access"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// claim takes everything that another process might have, the directory and the addresses, and reads the
// files that the settings name. All that is wrong is told at once, and nothing has been written yet.
func (r *running) claim() error {
	s := r.settings
	var problems []error
	code := cli.ExitUnavailable
	fail := func(with int, all ...error) {
		for _, err := range all {
			if err != nil {
				problems = append(problems, err)
				code = min(code, with) // what a restart does not mend comes first
			}
		}
	}
	var err error
	if r.directory, err = identity.Claim(s.DataDir); err != nil {
		fail(cli.ExitData, err)
	}
	r.warnReadable()
	fail(cli.ExitUsage, r.openTokens(), r.loadCertificates(), r.checkRaftCertificates(), r.readRaftSecret())
	fail(cli.ExitUnavailable, r.listenAdmin(), r.listenPlain(), r.listenTLS(), r.probeRaft())
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return cli.ExitWith(code, problems[0])
	}
	return cli.ExitWith(code, several(problems))
}

// several are problems that are told together.
type several []error

func (s several) Error() string {
	var b strings.Builder
	b.WriteString("the host cannot start:")
	for _, err := range s {
		b.WriteString("\n  - ")
		b.WriteString(err.Error())
	}
	return b.String()
}

func (s several) Unwrap() []error { return s }

// blame names the setting that an error is about.
func blame(setting string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--%s: %w", setting, err)
}

func (r *running) openTokens() (err error) {
	if r.settings.TokenFile != "" {
		r.tokens, err = access.Open(r.settings.TokenFile, r.log)
	}
	return err
}

func (r *running) loadCertificates() (err error) {
	s := r.settings
	if s.ServesTLS() {
		r.certificates, err = transport.LoadCertificates(s.TLSCert, s.TLSKey, s.TLSClientCA)
	}
	return blame("tls-cert", err)
}

// checkRaftCertificates looks whether the files are good. The log reads them itself.
func (r *running) checkRaftCertificates() error {
	s := r.settings
	if s.RaftTLSCert == "" {
		return nil
	}
	_, err := transport.LoadCertificates(s.RaftTLSCert, s.RaftTLSKey, s.RaftTLSCA)
	return blame("raft-tls-cert", err)
}

// warnReadable warns of files with secrets that every user of the machine can read or change.
func (r *running) warnReadable() {
	s := r.settings
	for _, f := range []struct{ setting, path string }{
		{"tls-key", s.TLSKey}, {"raft-tls-key", s.RaftTLSKey}, {"raft-secret-file", s.RaftSecretFile}, {"token-file", s.TokenFile},
	} {
		if f.path == "" {
			continue
		}
		if info, err := os.Stat(f.path); err == nil && info.Mode().Perm()&0o006 != 0 {
			r.log.Warn("every user of this machine can read or change a file that only the host should; chmod o= takes that away",
				"setting", f.setting, "file", f.path, "mode", info.Mode().Perm().String())
		}
	}
}

// maxRaftSecret is the longest file of a secret, in bytes.
const maxRaftSecret = 4096

// readRaftSecret reads the secret of the cluster. White space around it does not count.
func (r *running) readRaftSecret() error {
	path := r.settings.RaftSecretFile
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	r.raftSecret = bytes.TrimSpace(text)
	if n := len(r.raftSecret); err == nil && (n < raftlog.MinSecretBytes || n > maxRaftSecret) {
		err = fmt.Errorf("%s has a secret of %d bytes: it must have %d to %d; openssl rand -base64 32 makes one",
			path, n, raftlog.MinSecretBytes, maxRaftSecret)
	}
	return blame("raft-secret-file", err)
}

func (r *running) listenAdmin() (err error) {
	if r.settings.ServesAdmin() {
		pages := admin.Handler(r, admin.Options{Pprof: r.settings.Pprof, Names: r.settings.NamesOverHTTP()})
		r.admin, err = admin.Listen(r.settings.AdminListen, pages, r.log)
	}
	return blame("admin-listen", err)
}

func (r *running) listenPlain() error {
	s := r.settings
	if !s.ServesPlain() {
		return nil
	}
	l, err := transport.ListenGnet(s.Listen, &r.gate, transport.GnetOptions{
		MaxConnections: s.Connections, Stats: &r.stats, Logger: r.log,
	})
	if err == nil {
		r.listeners = append(r.listeners, l)
	}
	return blame("listen", err)
}

func (r *running) listenTLS() error {
	s := r.settings
	if r.certificates == nil {
		return nil
	}
	l, err := transport.ListenTLS(s.TLSListen, &r.gate, transport.TLSOptions{
		Config: r.certificates.ServerConfig(), MaxConnections: s.Connections, Stats: &r.stats, Logger: r.log,
	})
	if err == nil {
		r.listeners = append(r.listeners, l)
	}
	return blame("tls-listen", err)
}

// probeRaft looks whether the address can be had that the log will listen on.
func (r *running) probeRaft() error {
	if !r.settings.HasPeers() {
		return nil
	}
	l, err := net.Listen("tcp", r.settings.RaftListen)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: another process listens there; stop it or choose another port", err)
	}
	if err == nil {
		err = l.Close()
	}
	return blame("raft-listen", err)
}
