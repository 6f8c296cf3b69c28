// Package process runs the hosts of a cluster as processes of their own, on free ports of this machine and
// directories of their own: for tests that need real disks, real connections and real deaths.
//
//	program, err := process.Build(dir)
//	places, err := process.Places(program, dir, []string{"a", "b", "c"}, "--shards", "4")
//	host, err := places[0].Start()
//	err = host.AwaitReady(time.Minute)
//	...
//	host.Kill()
//	host, err = places[0].Start() // on what its disk has
//
// Nothing here ends by itself: who starts a host kills it. On Linux it dies with the program that started it.
package process
