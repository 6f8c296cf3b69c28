package simulation

import (
	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server"
)

// Bug is a mistake that is planted to see whether the rules notice it.
type Bug struct {
	Name string
	// Config changes what a host is made of, before it starts.
	Config func(*server.Config)
	// Dial changes how clients connect.
	Dial func(client.DialFunc) client.DialFunc
}

func (b *Bug) infest(c *server.Config) {
	if b != nil && b.Config != nil {
		b.Config(c)
	}
}

func (b *Bug) tamper(dial client.DialFunc) client.DialFunc {
	if b != nil && b.Dial != nil {
		return b.Dial(dial)
	}
	return dial
}
