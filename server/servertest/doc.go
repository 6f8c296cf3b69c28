// Package servertest runs a real Signalbox server inside a test: the whole of it, but for the disk and the
// network. Start takes milliseconds; the server stops with the test.
//
//	srv := servertest.Start(t)
//	c, err := client.Open(ctx, srv.Addresses(), client.WithDialer(srv.Dial))
//
// The log is the one of test/memlog and the connections are in memory, so that a test can pause a host,
// cut it off, make it lose the leadership, and run on the virtual time of a testing/synctest bubble.
package servertest
