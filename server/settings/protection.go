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
	return 0, fmt.Errorf("%q is no listener of a host", name)
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
				c.reject(setting, "tls-listen needs it", "give --"+setting+" FILE, or leave --tls-listen out")
			}
		}
		return
	}
	for _, setting := range []string{"tls-cert", "tls-key", "tls-client-ca"} {
		if c.text(setting) != "" {
			c.reject(setting, "there is no listener for it", "give --tls-listen ADDRESS as well, such as 0.0.0.0:7423")
		}
	}
}

func (c *checker) checkRaftTLS() {
	for _, setting := range []string{"raft-tls-cert", "raft-tls-key", "raft-tls-ca"} {
		if c.settings.protectsRaft() && c.text(setting) == "" {
			c.reject(setting, "hosts prove who they are to each other with all three files or with none",
				"give --"+setting+" FILE as well")
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
			c.reject(setting, c.subject(setting, address)+" can be reached from other machines, and "+problem,
				remedy+", or say --insecure="+part.String()+" where that network is trusted")
		}
	}
	plain := "what clients send there, tokens too, can be read and changed on the way"
	if !s.HasAccessControl() {
		plain = "whoever reaches it may do everything"
	}
	expose("listen", s.Listen, PartClients, plain,
		"use --tls-listen with --tls-cert and --tls-key, and --access-file, or listen on 127.0.0.1")
	if !s.HasAccessControl() && s.TLSClientCA == "" {
		expose("tls-listen", s.TLSListen, PartClients, "whoever reaches it may do everything",
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
			expose(raft, s.RaftListen, PartRaft, "whoever reaches it can write to the log of the cluster",
				"give --raft-tls-cert, --raft-tls-key and --raft-tls-ca, or at least --raft-secret-file")
			s.warnings = append(s.warnings, "whoever reaches "+s.RaftListen+" can write to the log of the cluster: "+
				"hosts have neither certificates for each other (--raft-tls-cert) nor a secret (--raft-secret-file)")
		case !isLoopback(s.RaftListen):
			s.warnings = append(s.warnings,
				"what hosts send each other can be read on the way, data and keys of sessions too: "+
					"a secret authenticates and does not encrypt; --raft-tls-cert does both")
		}
	}
	admin := "it tells names of nodes, semaphores and sessions to everybody"
	if s.Pprof {
		admin = "it shows everybody the memory of the process with what is in it"
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
				c.reject(setting, problem, "give the path of a file that this process may read")
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
		return "it is a directory"
	}
	return ""
}
