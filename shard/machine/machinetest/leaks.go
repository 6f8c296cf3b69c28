package machinetest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// CheckLeaks returns an error if a machine store keeps an unreferenced text or slot. So an empty machine has no texts.
// It reads the machine's memory by reflection.
func CheckLeaks(m Machine) error {
	core := within(reflect.ValueOf(m), "core")
	objects, holdings, sessions := within(core, "Objects"), within(core, "Holdings"), within(core, "Sessions")
	answers, kinds := within(core, "Answers"), within(core, "kinds")
	var names, data, held, described, kept, bodies int
	var ofKind, ofHoldings [shard.MaxKinds]int
	kindOf := func(object reflect.Value) shard.ObjectKind { return shard.ObjectKind(within(object, "Kind").Uint()) }
	each(objects, func(o reflect.Value) {
		if within(o, "node").Uint() == 0 {
			return // a free place
		}
		kind := kindOf(o)
		ofKind[kind]++
		names += textsIn(within(o, "name"))
		if store := storeOf(kinds.Index(int(kind))); TextsOf(store) != nil {
			data += textsIn(within(at(store, within(o, "State")), "data"))
		}
	})
	each(holdings, func(l reflect.Value) {
		held += textsIn(within(l, "data"))
		if within(l, "State").Uint() != 0 {
			ofHoldings[kindOf(at(objects.Addr(), within(l, "Object")))]++
		}
	})
	each(sessions, func(s reflect.Value) {
		client := within(s, "client")
		described += textsIn(within(s, "details"), client.Index(0), client.Index(1), client.Index(2))
		if within(s, "answers").Uint() != 0 {
			kept++
		}
		if within(s, "bodies").Uint() != 0 {
			bodies++
		}
	})
	var leaks []string
	check := func(what string, got, want int) {
		if got != want {
			leaks = append(leaks, fmt.Sprintf("%d %s are kept for %d", got, what, want))
		}
	}
	check("names of objects", size(within(objects, "names")), names)
	check("texts of holdings", size(within(holdings, "texts")), held)
	check("texts of sessions", size(within(sessions, "texts")), described)
	check("lists of answers", size(within(sessions, "kept")), kept)
	check("lists of bodies of answers", size(within(answers, "bodies")), bodies)
	check("nodes", size(within(objects, "nodes")), within(core, "Nodes", "byID").Len())
	for number := range kinds.Len() {
		if kinds.Index(number).IsNil() {
			continue
		}
		store := storeOf(kinds.Index(number))
		kind := shard.ObjectKind(number)
		own, states := places(store)
		check(kind.String()+" objects", own, ofKind[kind])
		check(kind.String()+" holding states", states, ofHoldings[kind])
		if texts := TextsOf(store); texts != nil {
			check("data of objects", texts.Size(), data)
		}
	}
	if len(leaks) > 0 {
		return fmt.Errorf("leaks: %s", strings.Join(leaks, ", "))
	}
	return nil
}

// storeOf returns a kind's store, possibly wrapped with a planted bug.
func storeOf(kind reflect.Value) reflect.Value {
	store := kind.Elem()
	if store.Kind() == reflect.Struct {
		inner := store.Field(0)
		store = reflect.NewAt(inner.Type().Elem(), inner.UnsafePointer())
	}
	return store
}

// within follows pointers and fields, exported or not.
func within(v reflect.Value, path ...string) reflect.Value {
	for _, name := range path {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		v = v.FieldByName(name)
		v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
	}
	return v
}

// at returns the thing in a slab under a handle.
func at(slab, h reflect.Value) reflect.Value {
	return slab.MethodByName("At").Call([]reflect.Value{h})[0]
}

// each calls fn for each item of a slab.
func each(slab reflect.Value, fn func(reflect.Value)) {
	slab = slab.Addr()
	end := arena.Handle(slab.MethodByName("End").Call(nil)[0].Uint())
	for h := arena.Handle(1); h < end; h++ {
		fn(at(slab, reflect.ValueOf(h)))
	}
}

// size returns the number of used slots in a store.
func size(store reflect.Value) int { return int(store.Addr().MethodByName("Size").Call(nil)[0].Int()) }

// textsIn counts texts that use memory.
func textsIn(list ...reflect.Value) (n int) {
	for _, t := range list {
		if t.Uint() != 0 {
			n++
		}
	}
	return n
}

// TextsOf returns the texts in a kind's store, or nil if it has none.
func TextsOf(store reflect.Value) *arena.Texts {
	if !store.Elem().FieldByName("texts").IsValid() {
		return nil
	}
	return within(store, "texts").Addr().Interface().(*arena.Texts)
}

// places returns the number of used slots in the slab of a kind's objects, and in its slabs for holding states.
func places(store reflect.Value) (objects, states int) {
	kind := store.Elem()
	for i := range kind.NumField() {
		field := kind.Type().Field(i)
		if !strings.HasPrefix(field.Type.Name(), "Slab[") {
			continue
		}
		if used := size(within(kind, field.Name)); field.Anonymous {
			objects += used
		} else {
			states += used
		}
	}
	return objects, states
}

// ForgetRows makes a machine.ViewTrack forget changed rows, which is a bug.
func ForgetRows(track any) {
	for _, name := range []string{"newest", "newestAt"} {
		within(reflect.ValueOf(track), "track", name).SetUint(0)
	}
}

// Encoded returns the bytes encoded for an unsaved snapshot, and the number of encoded items.
func Encoded(sn shard.Snapshot) (bytes, things int) {
	v := reflect.ValueOf(sn)
	aside, frozen, records := within(v, "aside"), within(v, "frozen"), within(v, "records")
	for p := range records.Len() {
		bytes += aside.Index(p).Len()
		for k := range frozen.Index(p).Len() {
			bytes += within(frozen.Index(p).Index(k), "fields").Len()
		}
		things += int(records.Index(p).Int())
	}
	return bytes, things
}
