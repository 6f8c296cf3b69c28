// Package kinds lists the object kinds in this build. Pass the list to machine.New:
//
//	m := machine.New(kinds.All(), machine.Options{})
//
// A kind is a package with rules, commands and reads. Only package kinds names all kinds.
package kinds

import (
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/process"
	"github.com/signalbox/signalbox/shard/rollout"
	"github.com/signalbox/signalbox/shard/semaphore"
)

var all = machine.NewKinds(semaphore.Kind(), rollout.Kind(), process.Kind())

// All returns the kinds in this build, always the same value.
func All() *machine.Kinds { return all }
