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
// Any other program is run by Launch, with the same means to wait for what it says and does:
//
//	watch, err := process.Launch("watch", exec.Command(program.Path, "semaphore", "watch", "/jobs", "lock"))
//	err = watch.AwaitOutput("it shows the lock", time.Minute, func() bool { return watch.Output() != "" })
//
// Nothing here ends by itself: who starts a process kills it. On Linux it dies with the program that started it.
package process
