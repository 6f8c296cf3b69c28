// Package servertest runs a complete server in a test; only disk and network are replaced. Start takes milliseconds,
// and the server stops with the test.
//
//	srv := servertest.Start(t)
//	c, err := client.Open(ctx, srv.Addresses(), client.WithDialer(srv.Dial))
//
// The log is the one of test/memlog and the connections are in memory, so that a test can pause a host,
// cut it off, make it lose the leadership, and run on the virtual time of a testing/synctest bubble.
package servertest
