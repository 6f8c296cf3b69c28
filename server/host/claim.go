package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/signalbox/signalbox/server/access"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// claim takes the directory and the addresses, which may be in use by another process, and reads the files named by
// the settings. claim reports all errors together, and writes nothing before the report.
func (h *Host) claim() (err error) {
	var wrong problems
	if h.directory, err = identity.Claim(h.settings.DataDir); err != nil {
		wrong.add(KindData, err)
	}
	h.warnReadable()
	wrong.add(KindSettings, h.openTokens(), h.readAccessRules(), h.loadCertificates(), h.checkRaftCertificates(),
		h.readRaftSecret(), h.readJoinToken())
	wrong.add(KindAddress, h.listenAdmin(), h.listenPlain(), h.listenTLS(), h.listenRaft())
	h.addresses.ClientAdvertise, h.addresses.AdminAdvertise = h.advertised()
	return wrong.err()
}

func (h *Host) openTokens() (err error) {
	if h.settings.TokenFile != "" {
		h.tokens, err = access.Open(h.settings.TokenFile, h.log)
	}
	return err
}

func (h *Host) readAccessRules() (err error) {
	var sum string
	switch s := &h.settings; {
	case s.AccessFile != "":
		h.rules, sum, err = access.ReadFirstRules(s.AccessFile, s.TokenFile != "")
		h.access = "the --access-file with the SHA-256 " + sum
	case s.TokenFile != "":
		h.access = "a --token-file"
	}
	return aboutSetting("access-file", err)
}

func (h *Host) loadCertificates() (err error) {
	s := &h.settings
	if s.ServesTLS() {
		h.certificates, err = transport.LoadCertificates(s.TLSCert, s.TLSKey, s.TLSClientCA)
	}
	return aboutSetting("tls-cert", err)
}

// checkRaftCertificates checks the certificate files. The log reads the files itself.
func (h *Host) checkRaftCertificates() error {
	s := &h.settings
	if s.RaftTLSCert == "" {
		return nil
	}
	_, err := transport.LoadCertificates(s.RaftTLSCert, s.RaftTLSKey, s.RaftTLSCA)
	return aboutSetting("raft-tls-cert", err)
}

// warnReadable warns about secret files every user on the machine can read or change.
func (h *Host) warnReadable() {
	s := &h.settings
	for _, f := range []struct{ setting, path string }{
		{"tls-key", s.TLSKey}, {"raft-tls-key", s.RaftTLSKey}, {"raft-secret-file", s.RaftSecretFile},
		{"token-file", s.TokenFile},
		{"access-file", s.AccessFile},
	} {
		if f.path == "" {
			continue
		}
		if info, err := os.Stat(f.path); err == nil && info.Mode().Perm()&0o006 != 0 {
			h.log.Warn("every user on the machine can read or change a file that should be private to the host; "+
				"restrict it with chmod o=",
				"setting", f.setting, "file", f.path, "mode", info.Mode().Perm().String())
		}
	}
}

// maxRaftSecret is the maximum length of a secret file, in bytes.
const maxRaftSecret = 4096

// readRaftSecret reads the cluster secret. Surrounding white space is ignored.
func (h *Host) readRaftSecret() error {
	path := h.settings.RaftSecretFile
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	h.raftSecret = bytes.TrimSpace(text)
	if n := len(h.raftSecret); err == nil && (n < raftlog.MinSecretBytes || n > maxRaftSecret) {
		err = fmt.Errorf("the secret in %s has %d bytes, but must have %d to %d; generate one with openssl rand "+
			"-base64 32",
			path, n, raftlog.MinSecretBytes, maxRaftSecret)
	}
	return aboutSetting("raft-secret-file", err)
}

func (h *Host) listenAdmin() (err error) {
	if h.settings.ServesAdmin() {
		pages := admin.Handler(h, admin.Options{Pprof: h.settings.Pprof, Names: h.settings.NamesOverHTTP()})
		if h.admin, err = admin.Listen(h.settings.AdminListen, pages, h.log); err == nil {
			h.addresses.Admin = h.admin.Addr().String()
		}
	}
	return aboutSetting("admin-listen", err)
}

// maxConnections returns the maximum number of client connections per listener.
func (h *Host) maxConnections() int { return h.settings.ConnectionLimit(transport.FileConnections()) }

func (h *Host) listenPlain() error {
	s := &h.settings
	if !s.ServesPlain() {
		return nil
	}
	l, err := transport.ListenGnet(s.Listen, h, transport.NetOptions{
		MaxConnections: h.maxConnections(), Stats: &h.stats, Logger: h.log,
	})
	if err == nil {
		h.listeners, h.addresses.Client = append(h.listeners, l), l.Addr().String()
	}
	return aboutSetting("listen", err)
}

func (h *Host) listenTLS() error {
	s := &h.settings
	if h.certificates == nil {
		return nil
	}
	l, err := transport.ListenTLS(s.TLSListen, h, transport.TLSOptions{
		Config: h.certificates.ServerConfig(), MaxConnections: h.maxConnections(), Stats: &h.stats, Logger: h.log,
	})
	if err == nil {
		h.listeners, h.addresses.TLS = append(h.listeners, l), l.Addr().String()
	}
	return aboutSetting("tls-listen", err)
}

func (h *Host) listenRaft() (err error) {
	if !h.settings.ServesHosts() {
		return nil
	}
	h.raftListener, err = net.Listen("tcp", h.settings.RaftListen)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; stop the process that uses the address, or choose another port", err)
	}
	if err == nil {
		h.addresses.Raft = h.raftListener.Addr().String()
	}
	return aboutSetting("raft-listen", err)
}

// advertised returns the addresses for clients and remote hosts. A port the system has chosen is known only now.
func (h *Host) advertised() (client, admin string) {
	s := &h.settings
	listens := cmp.Or(h.addresses.TLS, h.addresses.Client)
	return withPort(s.Advertise, listens), withPort(s.AdminAdvertise(), h.addresses.Admin)
}

// withPort replaces port 0 in the address with the listener's port.
func withPort(address, listener string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != "0" {
		return address
	}
	_, port, _ = net.SplitHostPort(listener)
	return net.JoinHostPort(host, port)
}
