package host

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/signalbox/signalbox/server/bootstrap"
	"github.com/signalbox/signalbox/server/diskguard"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/memguard"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/shard/hosts"
)

// ErrNotBootstrapped is returned if a host with an empty directory may not create a cluster automatically.
var ErrNotBootstrapped = errors.New("the data directory is empty, and no cluster is created automatically")

// ErrExists is returned by Init if the directory belongs to a host in a cluster.
var ErrExists = errors.New("the data directory belongs to a host of a cluster")

// identify ensures that the directory belongs to the host, monitors the disk and memory, and records a new start in
// the directory.
func (h *Host) identify() (err error) {
	if err = loadOrMake(h.directory, &h.settings, h.options.Version); err != nil {
		return err
	}
	h.disk = diskguard.Start(diskguard.Config{
		Volume: diskguard.Directory(h.settings.DataDir), Low: uint64(h.settings.MinFreeDisk), Log: h.log,
		Reserve: filepath.Join(h.settings.DataDir, reserveName),
	})
	h.memory = memguard.Start(h.settings.Memory().Guard(h.log))
	// Even a full disk has space for this write, because the guard has released the reserve.
	if h.start, err = h.directory.Begin(); err != nil {
		return err
	}
	if doubt := h.directory.Doubt(); doubt != nil {
		h.log.Warn("the host cannot detect a copied data directory; other hosts still can", "dir",
			h.settings.DataDir, "why", doubt)
	}
	h.identity = h.directory.Identity()
	if h.settings.Joins() && h.identity.Bootstrapped() {
		h.log.Info("the data directory already belongs to a cluster host; --join is ignored", "cluster",
			h.identity.Cluster, "host", h.identity.HostName)
	}
	h.seen, err = h.directory.OpenPeers()
	return err
}

// expected returns the part of the settings that must match the identity.
func expected(s *settings.Settings, version string) identity.Expected {
	want := identity.Expected{HostName: s.Name, ClusterName: s.ClusterName, Shards: s.Shards, Version: version}
	if s.HasList() {
		for _, first := range s.InitialHosts {
			want.Hosts = append(want.Hosts, first.Name)
		}
	}
	return want
}

// loadOrMake loads a directory's identity. A new directory gets an incarnation; the directory of a single host on its
// machine also gets a cluster.
func loadOrMake(d *identity.Directory, s *settings.Settings, version string) error {
	id, err := d.Load(expected(s, version))
	isNew := errors.Is(err, identity.ErrNone)
	switch {
	case err != nil && !isNew:
		return err
	case id.Bootstrapped():
		return nil
	case !s.HasPeers() && !s.Joins() && !s.IsLocal():
		return notBootstrapped(s)
	}
	if isNew {
		if err := d.Make(expected(s, version)); err != nil {
			return err
		}
	}
	switch {
	case s.HasPeers(): // the host bootstraps with its peers
		return nil
	case s.Joins() && !isNew && id.Promise != (hosts.Incarnation{}):
		return d.Redraw() // the hosts in its list may rely on the old incarnation
	case s.Joins():
		return nil
	}
	return bootstrapAlone(d, s)
}

func bootstrapAlone(d *identity.Directory, s *settings.Settings) error {
	return d.BootstrapAlone(s.ClusterName, cmp.Or(s.Shards, settings.DefaultShards), s.RaftAdvertise,
		s.HasAccessControl())
}

// notBootstrapped returns an error that says which command to run.
func notBootstrapped(s *settings.Settings) error {
	what := []string{"--data-dir " + s.DataDir, "--name " + s.Name}
	if s.ClusterName != "" {
		what = append(what, "--cluster-name "+s.ClusterName)
	}
	if s.Shards != 0 {
		what = append(what, fmt.Sprintf("--shards %d", s.Shards))
	}
	if s.ServesHosts() {
		what = append(what, "--raft-listen "+s.RaftListen, "--raft-advertise "+s.RaftAdvertise)
	}
	options := strings.Join(what, " ")
	return fmt.Errorf("%w: %s is empty, and other hosts can reach this host. If the directory was in use, its "+
		"data is lost: restore the directory, or let the host join again: signalbox serve --join HOST:PORT %s. "+
		"To create a new cluster, run this once and start the host again: signalbox init %s", ErrNotBootstrapped,
		s.DataDir, options, options)
}

// Init creates a cluster with one host in an empty directory, and does not start the host. Use Init if other machines
// can reach the host, because a start then never creates a cluster automatically. Init returns an *Error, with
// ErrExists if the host is already in a cluster.
func Init(o Options) (identity.Identity, error) {
	s, err := o.Settings.Complete()
	if err != nil {
		return identity.Identity{}, &Error{KindSettings, err}
	}
	if s.Joins() {
		return identity.Identity{}, &Error{KindSettings, errors.New("a host that joins a cluster does not create " +
			"one; omit --join, or start the host with signalbox serve")}
	}
	if s.HasPeers() {
		return identity.Identity{},
			&Error{KindSettings, errors.New("a cluster with several initial hosts bootstraps when all hosts have " +
				"started; start them with signalbox serve, without signalbox init")}
	}
	d, err := identity.Claim(s.DataDir)
	if err != nil {
		return identity.Identity{}, &Error{KindData, err}
	}
	defer d.Release()
	if err := initialize(d, &s, cmp.Or(o.Version, "devel")); err != nil {
		return identity.Identity{}, &Error{KindData, err}
	}
	return d.Identity(), nil
}

func initialize(d *identity.Directory, s *settings.Settings, version string) error {
	id, err := d.Load(expected(s, version))
	switch {
	case errors.Is(err, identity.ErrNone):
		err = d.Make(expected(s, version))
	case err == nil && id.Bootstrapped():
		err = fmt.Errorf("%w: %s is host %s of cluster %s; start it with signalbox serve", ErrExists, s.DataDir,
			id.HostName, id.Cluster)
	}
	if err != nil {
		return err
	}
	return bootstrapAlone(d, s)
}

// plan returns the plan on which hosts that bootstrap together must agree.
func (h *Host) plan() bootstrap.Plan {
	s := &h.settings
	return bootstrap.Plan{Cluster: s.ClusterName, Shards: cmp.Or(s.Shards, settings.DefaultShards), Access: h.access,
		Hosts: s.InitialHosts}
}
