// Package kinds lists the kinds of objects that this build knows. The list is an argument of machine.New:
//
//	m := machine.New(kinds.All(), machine.Options{})
//
// A kind is one package with its rules, its commands and its reads. No other package names all of them.
package kinds

import (
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/process"
	"github.com/signalbox/signalbox/shard/rollout"
	"github.com/signalbox/signalbox/shard/semaphore"
)

var all = machine.NewKinds(semaphore.Kind(), rollout.Kind(), process.Kind())

// All returns the kinds of this build. They never change.
func All() *machine.Kinds { return all }
