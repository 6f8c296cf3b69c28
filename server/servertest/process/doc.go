// Package process runs a cluster's hosts as separate processes, on free local ports and in separate directories, for
// tests with real disks, connections and kills.
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
// Tests must kill their processes. On Linux, processes are also killed when the test process ends.
package process
