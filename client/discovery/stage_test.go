package discovery_test

import (
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
)

const (
	path = clienttest.Path
	name = "endpoints"
)

var (
	check        = clienttest.Check
	lead         = clienttest.Lead
	open         = clienttest.Open
	session      = clienttest.Session
	waitForQuiet = clienttest.WaitForQuiet
)

func TestMain(m *testing.M) { clienttest.Main(m) }

// play runs a test on a cluster in a bubble of time, with a node and a client.
func play(t *testing.T, hosts int, f func(t *testing.T, srv *servertest.Cluster, c *client.Client)) {
	t.Helper()
	clienttest.Play(t, hosts, func(t *testing.T, g *clienttest.Stage) { f(t, g.Server, g.Client) })
}
