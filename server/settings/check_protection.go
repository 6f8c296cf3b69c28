package settings

import (
	"errors"
	"io/fs"
	"os"
)

func (n *notebook) checkClientTLS() {
	s := n.settings
	if n.blamed("tls-listen") {
		return
	}
	if s.ServesTLS() {
		for _, f := range []struct{ setting, path string }{{"tls-cert", s.TLSCert}, {"tls-key", s.TLSKey}} {
			if f.path == "" {
				n.blame(f.setting, "tls-listen needs it", "give --"+f.setting+" FILE, or leave --tls-listen out")
			}
		}
		return
	}
	for _, f := range []struct{ setting, path string }{
		{"tls-cert", s.TLSCert}, {"tls-key", s.TLSKey}, {"tls-client-ca", s.TLSClientCA},
	} {
		if f.path != "" {
			n.blame(f.setting, "there is no listener for it", "give --tls-listen ADDRESS as well, such as 0.0.0.0:7423")
		}
	}
}

func (n *notebook) checkRaftTLS() {
	s := n.settings
	files := []struct{ setting, path string }{
		{"raft-tls-cert", s.RaftTLSCert}, {"raft-tls-key", s.RaftTLSKey}, {"raft-tls-ca", s.RaftTLSCA},
	}
	if !s.protectsRaft() {
		return
	}
	for _, f := range files {
		if f.path == "" {
			n.blame(f.setting, "hosts prove who they are to each other with all three files or with none",
				"give --"+f.setting+" FILE as well")
		}
	}
}

// protectsRaft tells whether TLS between hosts is wanted.
func (s *Settings) protectsRaft() bool {
	return s.RaftTLSCert != "" || s.RaftTLSKey != "" || s.RaftTLSCA != ""
}

// checkExposure refuses what can be reached over a network by anybody.
func (n *notebook) checkExposure() {
	s := n.settings
	if n.blamed("insecure") {
		return
	}
	expose := func(setting, address string, part Parts, problem, remedy string) {
		if listens(address) && !isLoopback(address) && !s.Insecure.Has(part) && !n.blamed(setting) {
			n.blame(setting, n.it(setting, address)+" can be reached from other machines, and "+problem,
				remedy+", or say --insecure="+part.String()+" where that network is trusted")
		}
	}
	plain := "what clients send there, tokens too, can be read and changed on the way"
	if s.TokenFile == "" {
		plain = "whoever reaches it may do everything"
	}
	expose("listen", s.Listen, PartClients, plain,
		"use --tls-listen with --tls-cert and --tls-key, and --token-file, or listen on 127.0.0.1")
	if s.TokenFile == "" && s.TLSClientCA == "" {
		expose("tls-listen", s.TLSListen, PartClients, "whoever reaches it may do everything",
			"give --token-file FILE (signalbox token new makes tokens) or --tls-client-ca FILE")
	}
	if s.HasPeers() && !s.protectsRaft() {
		raft := "raft-listen"
		if s.raftFromList() {
			raft = "hosts"
		}
		if s.RaftSecretFile == "" {
			expose(raft, s.RaftListen, PartRaft, "whoever reaches it can write to the log of the cluster",
				"give --raft-tls-cert, --raft-tls-key and --raft-tls-ca, or at least --raft-secret-file")
			s.warnings = append(s.warnings, "whoever reaches "+s.RaftListen+" can write to the log of the cluster: "+
				"hosts have neither certificates for each other (--raft-tls-cert) nor a secret (--raft-secret-file)")
		} else if !isLoopback(s.RaftListen) {
			s.warnings = append(s.warnings, "what hosts send each other can be read on the way, data and keys of sessions too: "+
				"a secret authenticates and does not encrypt; --raft-tls-cert does both")
		}
	}
	admin := "it tells names of nodes, semaphores and sessions to everybody"
	if s.Pprof {
		admin = "it shows everybody the memory of the process with what is in it"
	}
	expose("admin-listen", s.AdminListen, PartAdmin, admin, "listen on 127.0.0.1")
}

// checkFiles looks whether the files that are named are there, so that all that are missing are told at
// once. What is in them is for those to judge who read them.
func (n *notebook) checkFiles() {
	s := n.settings
	for _, f := range []struct{ setting, path string }{
		{"tls-cert", s.TLSCert}, {"tls-key", s.TLSKey}, {"tls-client-ca", s.TLSClientCA}, {"token-file", s.TokenFile},
		{"raft-tls-cert", s.RaftTLSCert}, {"raft-tls-key", s.RaftTLSKey}, {"raft-tls-ca", s.RaftTLSCA},
		{"raft-secret-file", s.RaftSecretFile},
	} {
		if f.path == "" || n.blamed(f.setting) {
			continue
		}
		if problem := unreadable(f.path); problem != "" {
			n.blame(f.setting, problem, "give the path of a file that this process may read")
		}
	}
}

// unreadable tells why a file cannot be read, nothing where it can.
func unreadable(path string) string {
	file, err := os.Open(path)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return "it is a directory"
	}
	return ""
}
