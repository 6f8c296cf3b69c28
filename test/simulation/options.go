package simulation

import (
	"log/slog"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard/meta"
)

// Options configure a run besides its plan.
type Options struct {
	// Bug, if set, is planted.
	Bug *Bug
	// Did, if set, is called for each started fault, by several goroutines.
	Did func(FaultKind)
	// Joined, if set, is called after each join with the number of cluster members.
	Joined func(hosts int)
	// Moved, if set, is called now and then with the number of slots that another shard has got since the last call.
	Moved func(slots int)
	// Production runs the hosts on the production log. Only one such world per process.
	Production bool
	// Log, if set, receives the hosts' logs.
	Log *slog.Logger
}

// Bug is a planted bug, to be detected by the rules.
type Bug struct {
	Name string
	// Config changes a host's config before its start.
	Config func(*server.Config)
	// Dial changes how clients connect.
	Dial func(client.DialFunc) client.DialFunc
	// Save changes a backup, given the function that saves one.
	Save func(save func() (*backup.States, error)) (*backup.States, error)
	// Regenerate creates the machines of the new cluster.
	Regenerate func(*backup.States, meta.Regeneration) (*backup.Machines, error)
}

// save saves a backup with the planted bug.
func (b *Bug) save(save func() (*backup.States, error)) (*backup.States, error) {
	if b != nil && b.Save != nil {
		return b.Save(save)
	}
	return save()
}

// regenerate restores a backup with the planted bug.
func (b *Bug) regenerate(s *backup.States, r meta.Regeneration) (*backup.Machines, error) {
	if b != nil && b.Regenerate != nil {
		return b.Regenerate(s, r)
	}
	return s.Regenerate(r)
}

// configure plants the bug into a host's config.
func (b *Bug) configure(c *server.Config) {
	if b != nil && b.Config != nil {
		b.Config(c)
	}
}

// dialer plants the bug between a client and its connections.
func (b *Bug) dialer(dial client.DialFunc) client.DialFunc {
	if b != nil && b.Dial != nil {
		return b.Dial(dial)
	}
	return dial
}
