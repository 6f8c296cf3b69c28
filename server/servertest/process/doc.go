// Package process runs the hosts of a cluster as processes of their own, on free ports of this machine and
// directories of their own: for tests that need real disks, connections and kills.
//
//	program, err := process.Build(dir)
//	places, err := process.Places(program, dir, []string{"a", "b", "c"}, "--shards", "4")
//	host, err := places[0].Start()
//	err = host.AwaitReady(time.Minute)
//	...
//	host.Kill()
//	host, err = places[0].Start() // on what its disk has
//
// Any other program is run by Launch, with the same means to wait for what it writes and does:
//
//	watch, err := process.Launch("watch", exec.Command(program.Path, "semaphore", "watch", "/jobs", "lock"))
//	err = watch.AwaitOutput("it shows the lock", time.Minute, func() bool { return watch.Output() != "" })
//
// No process ends by itself: the test that starts it kills it. On Linux it is killed when the test's process ends.
package process
