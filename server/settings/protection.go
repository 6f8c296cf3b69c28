package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Parts are parts of a host that are reachable over a network.
type Parts uint8

// Parts that may be unprotected.
const (
	PartClients Parts = 1 << iota
	PartRaft
	PartAdmin
	PartHTTP

	PartsAll = PartClients | PartRaft | PartAdmin | PartHTTP
)

var partNames = []struct {
	name string
	part Parts
}{{"clients", PartClients}, {"raft", PartRaft}, {"admin", PartAdmin}, {"http", PartHTTP}}

// ParseParts parses a comma-separated list of names. "true" means all parts; "false" and an empty text mean none.
func ParseParts(text string) (Parts, error) {
	var parts Parts
	for name := range strings.SplitSeq(text, ",") {
		part, err := parsePart(strings.ToLower(strings.TrimSpace(name)))
		if err != nil {
			return 0, err
		}
		parts |= part
	}
	return parts, nil
}

func parsePart(name string) (Parts, error) {
	switch name {
	case "", "false", "none":
		return 0, nil
	case "true", "all":
		return PartsAll, nil
	}
	for _, p := range partNames {
		if p.name == name {
			return p.part, nil
		}
	}
	return 0, fmt.Errorf("unknown listener %q", name)
}

// Has reports whether p includes all the given parts.
func (p Parts) Has(all Parts) bool { return p&all == all }

// String returns a comma-separated list of names, empty for no parts.
func (p Parts) String() string {
	if p == PartsAll {
		return "all"
	}
	var names []string
	for _, known := range partNames {
		if p.Has(known.part) {
			names = append(names, known.name)
		}
	}
	return strings.Join(names, ",")
}

func (c *checker) checkClientTLS() {
	if c.rejected("tls-listen") {
		return
	}
	if c.settings.ServesTLS() {
		for _, setting := range []string{"tls-cert", "tls-key"} {
			if c.text(setting) == "" {
				c.reject(setting, "required by tls-listen", "give --"+setting+" FILE, or omit --tls-listen")
			}
		}
		return
	}
	for _, setting := range []string{"tls-cert", "tls-key", "tls-client-ca"} {
		if c.text(setting) != "" {
			c.reject(setting, "the listener is off", "give --tls-listen ADDRESS too, such as 0.0.0.0:7423")
		}
	}
}

func (c *checker) checkRaftTLS() {
	for _, setting := range []string{"raft-tls-cert", "raft-tls-key", "raft-tls-ca"} {
		if c.settings.protectsRaft() && c.text(setting) == "" {
			c.reject(setting, "TLS between hosts needs all three files",
				"give --"+setting+" FILE too")
		}
	}
}

// protectsRaft reports whether TLS between hosts is configured.
func (s *Settings) protectsRaft() bool {
	return s.RaftTLSCert != "" || s.RaftTLSKey != "" || s.RaftTLSCA != ""
}

// checkExposure rejects unprotected listeners that are open to a network.
func (c *checker) checkExposure() {
	s := c.settings
	if c.rejected("insecure") {
		return
	}
	expose := func(setting, address string, part Parts, problem, remedy string) {
		if listens(address) && !isLoopback(address) && !s.Insecure.Has(part) && !c.rejected(setting) {
			c.reject(setting, c.subject(setting, address)+" is reachable from other machines, and "+problem,
				remedy+", or allow it with --insecure="+part.String()+" if the network is trusted")
		}
	}
	plain := "requests and tokens can be read and changed in transit"
	if !s.HasAccessControl() {
		plain = "everyone who can connect may do everything"
	}
	expose("listen", s.Listen, PartClients, plain,
		"use --tls-listen with --tls-cert and --tls-key, and --access-file, or listen on 127.0.0.1")
	if !s.HasAccessControl() && s.TLSClientCA == "" {
		expose("tls-listen", s.TLSListen, PartClients, "everyone who can connect may do everything",
			"give --access-file FILE (signalbox token generate makes tokens) or --tls-client-ca FILE")
	}
	if s.ServesHosts() && !s.protectsRaft() {
		raft := "raft-listen"
		if s.raftFromList() {
			raft = "initial-hosts"
		}
		switch {
		case s.RaftSecretFile == "" && (s.JoinToken != "" || s.JoinTokenFile != ""): // the join provides the secret
		case s.RaftSecretFile == "":
			expose(raft, s.RaftListen, PartRaft, "everyone who can connect can write to the cluster's log",
				"give --raft-tls-cert, --raft-tls-key and --raft-tls-ca, or at least --raft-secret-file")
			s.warnings = append(s.warnings, "everyone who can connect to "+s.RaftListen+" can write to the "+
				"cluster's log: the hosts have neither certificates (--raft-tls-cert) nor a secret "+
				"(--raft-secret-file)")
		case !isLoopback(s.RaftListen):
			s.warnings = append(s.warnings,
				"messages between hosts, including data and session keys, can be read in transit: a secret "+
					"authenticates but does not encrypt; --raft-tls-cert does both")
		}
	}
	admin := "node, semaphore and session names are visible to everybody"
	if s.Pprof {
		admin = "the process memory and its content are visible to everybody"
	}
	expose("admin-listen", s.AdminListen, PartAdmin, admin, "listen on 127.0.0.1")
	if s.TLSCert == "" || !s.HasAccessControl() {
		expose("http-listen", s.HTTPListen, PartHTTP, plain,
			"give --tls-cert, --tls-key and --access-file, or listen on 127.0.0.1")
	}
}

// checkFiles checks that the specified files are readable, so that all missing files are reported together. Every
// file's content is checked by the package that reads the file.
func (c *checker) checkFiles() {
	for _, setting := range []string{
		"tls-cert", "tls-key", "tls-client-ca", "access-file", "token-file", "http-peer-ca", "raft-tls-cert",
		"raft-tls-key", "raft-tls-ca",
		"raft-secret-file",
	} {
		if path := c.text(setting); path != "" && !c.rejected(setting) {
			if problem := unreadable(path); problem != "" {
				c.reject(setting, problem, "give the path of a readable file")
			}
		}
	}
}

// withoutPath returns an error's text without the file path, which the message already shows.
func withoutPath(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return err.Error()
}

// unreadable returns why a file cannot be read, empty if it can.
func unreadable(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return withoutPath(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return "is a directory"
	}
	return ""
}
