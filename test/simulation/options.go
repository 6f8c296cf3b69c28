package simulation

import (
	"log/slog"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard/meta"
)

// Options are what a run needs besides a plan.
type Options struct {
	// Bug is planted, if it is set.
	Bug *Bug
	// Did is called for each fault that has begun, by several goroutines, if it is set.
	Did func(FaultKind)
	// Joined is called after each join with how many hosts belong to the cluster, if it is set.
	Joined func(hosts int)
	// Production has the hosts run on the log of production. A process plays one such world.
	Production bool
	// Log receives what hosts log, if it is set.
	Log *slog.Logger
}

// Bug is a mistake that is planted to see whether the rules notice it.
type Bug struct {
	Name string
	// Config changes the config of a host, before it starts.
	Config func(*server.Config)
	// Dial changes how clients connect.
	Dial func(client.DialFunc) client.DialFunc
	// Save changes what is saved, given what saves a backup.
	Save func(save func() (*backup.States, error)) (*backup.States, error)
	// Regenerate makes the machines of the new cluster.
	Regenerate func(*backup.States, meta.Regeneration) (*backup.Machines, error)
}

// save plants the mistake into the saving of a backup.
func (b *Bug) save(save func() (*backup.States, error)) (*backup.States, error) {
	if b != nil && b.Save != nil {
		return b.Save(save)
	}
	return save()
}

// regenerate plants the mistake into what is made of a backup.
func (b *Bug) regenerate(s *backup.States, r meta.Regeneration) (*backup.Machines, error) {
	if b != nil && b.Regenerate != nil {
		return b.Regenerate(s, r)
	}
	return s.Regenerate(r)
}

// configure plants the mistake into the config of a host.
func (b *Bug) configure(c *server.Config) {
	if b != nil && b.Config != nil {
		b.Config(c)
	}
}

// dialer plants the mistake between a client and its connections.
func (b *Bug) dialer(dial client.DialFunc) client.DialFunc {
	if b != nil && b.Dial != nil {
		return b.Dial(dial)
	}
	return dial
}
