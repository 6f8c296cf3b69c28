// Package rollout delivers versions to the instances of a service in stages: location by location in a fixed order,
// with a delay after each location.
//
// An instance joins a location, and is yielded the targets that the instance is to bring into use:
//
//	m, err := rollout.Join(ctx, session, "dns", rollout.Instance{Name: hostname, Location: "sas"})
//	...
//	for t, err := range m.Targets(ctx) { // the newest only
//		if err != nil {
//			return err
//		}
//		if err := apply(t.Context(), t.Payload); err != nil {
//			m.Failed(ctx, t, "", err) // it is yielded again, after a pause
//			continue
//		}
//		m.Reached(ctx, t) // the first makes it a leader, whose progress counts
//	}
//
// Versions are published by Publish, or made by a Source that the rollout asks for versions. A Gate checks the targets
// of a location before the next locations get them. Of and In return a handle for operators. An operator pauses,
// promotes, aborts, rolls back and asks why nothing moves; Watch is for screens.
//
// # Caveats
//
// A rollout hands out versions and transports no data: a payload is up to 64 KiB, and mostly the name of something.
// Order and delays hold for the targets that instances are given, not for the use that instances make of the targets.
// An instance counts until its session ends: an instance that dies holds its location up for the timeout of the
// session.
//
// The doc of the project on rollouts says what is guaranteed.
package rollout
