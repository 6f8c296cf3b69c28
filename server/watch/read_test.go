package watch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// stepping is a machine with an event before each page read.
type stepping struct {
	Machine
	before  func(o shard.DescribeOptions)
	changes func(since shard.Revision) // before changes are read
	pages   int
}

func (s *stepping) Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
	if s.changes != nil {
		s.changes(since)
	}
	return s.Machine.Changes(r, since, d)
}

func (s *stepping) Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool {
	if o.Owners {
		s.pages++
		s.before(o)
	}
	return s.Machine.Describe(r, o, d)
}

// record is a semaphore's state at every readable revision.
type record map[shard.Revision]state

func (r record) note(m *machine.Machine, name string) {
	if s, revision := stateOf(m, 1, name); s.exists {
		r[revision] = s
	}
}

func (r record) check(v *view) error {
	want, known := r[shard.Revision(v.revision)]
	if !known || !v.state.equal(want.as(v.wants)) {
		return fmt.Errorf("at revision %d (known: %v) the view is\n%v, it should be\n%v", v.revision, known, v.state,
			want)
	}
	return nil
}

func TestASnapshotThatIsReadWhileOwnersComeAndGoShowsOneMoment(t *testing.T) {
	for _, changes := range []int{1, 40, 400} {
		t.Run(fmt.Sprintf("%d changes a page", changes), func(t *testing.T) {
			const sessions, owners = 4500, 4000
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, sessions, 1, Options{PageBytes: 16 << 10})
				b.create("sem", shard.Forever, "data")
				b.own(owners, "sem", "first")
				random, r := rand.New(rand.NewPCG(1, uint64(changes))), record{}
				r.note(b.machine, "sem")
				m := &stepping{Machine: b.machine, before: func(shard.DescribeOptions) {
					for range changes {
						switch s := random.IntN(sessions); random.IntN(3) {
						case 0:
							b.addAs(s, shard.Command{Kind: shard.CmdRelease, Name: []byte("sem")})
						default:
							b.addAs(s, acquire("sem", fmt.Sprint(random.IntN(3))))
						}
					}
					if random.IntN(3) == 0 {
						b.add(shard.Command{Kind: shard.CmdSemaphoreResize, Name: []byte("sem"),
							Count: shard.Forever - uint64(random.IntN(9))})
					}
					if random.IntN(3) == 0 {
						b.add(shard.Command{Kind: shard.CmdSemaphoreUpdate, Name: []byte("sem"),
							Data: fmt.Append(nil, random.IntN(9))})
					}
					b.commit()
					r.note(b.machine, "sem")
				}}
				b.hub.machine = m
				c := newClient(t, b.hub)
				c.check = r.check
				var views []*view
				for range 3 {
					views = append(views, c.watch("sem", all), c.watch("sem", wantsOwners))
				}
				rest()
				for _, v := range views {
					c.expect(v, b.machine)
					if got := c.look(v); got.pages < 5 {
						t.Errorf("%d pages", got.pages)
					}
				}
			})
		})
	}
}

func TestASnapshotThatCannotBeReadForChangesIsReadAfterThem(t *testing.T) {
	const owners = 2500
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{})
		b.create("sem", shard.Forever, "")
		b.own(owners, "sem", "first")
		storms := 3*readTries + 1
		m := &stepping{Machine: b.machine}
		m.before = func(o shard.DescribeOptions) {
			if o.After == 0 || storms == 0 {
				return
			}
			storms--
			if storms == 1 {
				b.remove("sem")
				b.do(shard.Command{Kind: shard.CmdContinue}) // more owners than one command removes
				b.create("sem", shard.Forever, "again")
			}
			for i := range shard.MaxPage + 100 {
				b.addAs(i, acquire("sem", fmt.Sprint(storms)))
			}
			b.commit()
		}
		b.hub.machine = m
		c := newClient(t, b.hub)
		v := c.watch("sem", all)
		for range 5 {
			rest()
		}
		if storms != 0 {
			t.Errorf("%d storms are left", storms)
		}
		c.expect(v, b.machine)
		if m.pages > 40 {
			t.Errorf("%d pages were read", m.pages)
		}
	})
}

func TestASemaphoreThatGoesWhileItIsReadIsReportedMissing(t *testing.T) {
	const owners = 2500
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{})
		b.create("sem", shard.Forever, "")
		b.own(owners, "sem", "first")
		once := true
		m := &stepping{Machine: b.machine}
		m.before = func(o shard.DescribeOptions) {
			if o.After != 0 && once {
				once = false
				b.remove("sem")
			}
		}
		b.hub.machine = m
		c := newClient(t, b.hub)
		v := c.watch("sem", all)
		rest()
		c.expect(v, b.machine)
	})
}
