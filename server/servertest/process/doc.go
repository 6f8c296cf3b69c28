// Package process runs a cluster's hosts as separate processes, on free ports of this machine and in separate
// directories: for tests that need real disks, connections and kills.
//
//	program, err := process.Build(dir)
//	places, err := process.Places(program, dir, []string{"a", "b", "c"}, "--shards", "4")
//	host, err := places[0].Start()
//	err = host.AwaitReady(time.Minute)
//	...
//	host.Kill()
//	host, err = places[0].Start() // with its disk content
//
// Launch runs any other program, with the same functions to wait for its output and actions:
//
//	watch, err := process.Launch("watch", exec.Command(program.Path, "semaphore", "watch", "/jobs", "lock"))
//	err = watch.AwaitOutput("it shows the lock", time.Minute, func() bool { return watch.Output() != "" })
//
// No process ends by itself: the test must kill it. On Linux it is killed when the test's process ends.
package process
