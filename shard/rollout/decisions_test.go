package rollout

import "testing"

// decisions has a test for each of the fifteen decisions in section 6 of DESIGN.md.
var decisions = []struct{ name, text string }{
	{"1 a location has reached its target when its leaders have, by generation", `
		spec sas
		publish
		leader a.sas
		leader b.sas
		reach a.sas
		report b.sas 1 0   # it uses the version, and has not heard of the target
		unreached sas
		report b.sas 1 1
		reached sas`},
	{"2 a location without live leaders does not move, but for its first target", `
		spec sas
		publish
		target sas none
		join f.sas
		target sas 1
		publish
		ask f.sas
		reach f.sas
		target sas 1
		leader a.sas
		reach a.sas
		target sas 2
		leave a.sas
		publish
		ask f.sas
		target sas 2`},
	{"3 errors of followers count while no leader has reached the target", `
		spec sas interval=0
		publish
		join f.sas
		publish
		fail f.sas timestamp-out-of-range 1
		target sas 2
		leader a.sas
		reach a.sas
		publish
		target sas 3
		leader b.sas
		reach a.sas
		publish
		fail f.sas timestamp-out-of-range 1
		target sas 3
		fail b.sas timestamp-out-of-range 1
		target sas 4`},
	{"4 a delay counts from when a version was reached", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		at 30000
		target man none
		reach a.sas
		at 35000
		target man none
		at 35001
		target man 1`},
	{"4 or from when it was assigned, where the spec says so", `
		spec sas man:5000 from=assigned
		publish
		leader a.sas
		leader b.man
		at 5000
		target man none
		at 5001
		target man 1
		unreached sas`},
	{"5 a version that failed in a location is given up there alone, for the newest that is old enough", `
		spec sas man:5000 vla:5000
		publish
		leader a.sas
		leader b.man
		leader c.vla
		reach a.sas
		at 6000
		publish
		reach a.sas
		at 12000
		target man 1
		fail b.man timestamp-out-of-range 1
		target man 2
		target sas 2
		reach b.man
		at 30000
		target vla 2`},
	{"6 a source that has nothing changes nothing", `
		spec sas source=asked
		source 1
		leader a.sas
		offer 1 1
		reach a.sas
		ask a.sas
		decline 1 2
		target sas 1
		reached sas
		phase idle`},
	{"7 nothing goes back by itself", `
		spec sas man:5000 vla:5000
		publish
		leader a.sas
		leader b.man
		leader c.vla
		act promote vla seq=1
		publish
		act promote vla seq=2
		target vla 2
		reach c.vla
		reach a.sas
		at 6000
		reach b.man
		at 30000
		target man 1
		target vla 2
		act promote vla seq=1
		refused PRECONDITION_FAILED`},
	{"8 what is not old enough yet: no target, and in how long", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		at 999
		reach a.sas
		at 3000
		ask b.man
		target man none
		next man 3000
		why man delay`},
	{"9 a location that is bypassed passes its delay on", `
		spec sas man:5000 vla:5000 iva:1000
		publish
		leader a.sas
		leader c.vla
		leader d.iva
		act bypass man,vla
		at 999
		reach a.sas
		at 11999
		target iva none
		at 12000
		target iva 1
		target vla none`},
	{"9 the first location can be bypassed: the next takes what is published", `
		spec sas man:5000
		leader b.man
		act bypass sas
		publish
		target man 1`},
	{"10 a leader that becomes a follower is out of the count at once", `
		spec sas
		publish
		leader a.sas
		leader b.sas
		reach a.sas
		publish
		follower b.sas
		target sas 2`},
	{"11 two that ask at once are answered the same", `
		spec sas
		publish
		leader a.sas
		leader b.sas
		reach a.sas
		publish
		reach b.sas
		ask a.sas
		ask b.sas
		target sas 2
		given 2`},
	{"12 new choices have an interval, and an end", `
		spec sas interval=10000 max=2
		publish
		leader a.sas
		publish
		publish
		fail a.sas timestamp-out-of-range 1
		target sas 3
		publish
		fail a.sas timestamp-out-of-range 1
		target sas 3
		why sas reelection-wait
		at 10000
		target sas 3
		at 10001
		target sas 4
		publish
		fail a.sas timestamp-out-of-range 1
		at 30000
		target sas 4
		phase halted
		act resume
		target sas 5`},
	{"13 the minute counts from when the instance received the target", `
		spec sas
		publish
		join a.sas
		publish
		at 100000
		ask a.sas - 9
		ask a.sas
		leader a.sas
		fail a.sas - 9
		at 160001
		target sas 1
		at 160002
		target sas 2`},
	{"14 who has not joined, or has left, joins again", `
		spec sas
		publish
		leader a.sas
		leave a.sas
		reach a.sas
		refused NOT_FOUND
		unreached sas
		join a.sas
		reach a.sas`},
	{"15 a version that nobody assigned is taken as it is: not at the target", `
		spec sas
		publish
		leader a.sas
		report a.sas 4711 1
		unreached sas
		why sas leaders`},
}

func TestDecisions(t *testing.T) {
	for _, d := range decisions {
		t.Run(d.name, func(t *testing.T) { play(t, d.text) })
	}
}

// acts are operator actions.
var acts = []struct{ name, text string }{
	{"promote does not wait for the delay", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		reach a.sas
		act promote man
		target man 1`},
	{"promote says that a target counts as reached, in spite of gates and leaders", `
		spec sas man:0 gates=sas:errors
		publish
		leader a.sas
		leader b.man
		act promote sas
		reached sas
		target man 1
		gate sas errors 1 failed
		reached sas`},
	{"promote of a version to all", `
		spec sas man:5000 vla:5000
		publish
		leader a.sas
		leader b.man
		leader c.vla
		act bypass vla
		act promote seq=1
		target sas 1
		target man 1
		target vla none
		act promote vla seq=1
		target vla 1`},
	{"promote of a version that is not there, or withdrawn", `
		spec sas
		act promote seq=1
		refused NOT_FOUND
		publish
		act promote seq=2
		refused NOT_FOUND
		act withdraw seq=1
		act promote seq=1
		refused PRECONDITION_FAILED`},
	{"abort gives up what is not reached, and moves no target", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		reach a.sas
		at 6000
		target man 1
		act abort
		phase halted
		target man 1
		reach b.man
		unreached man
		act resume
		phase blocked
		why man no-alternative
		publish
		reach a.sas
		at 12000
		target man 2`},
	{"retry takes an abort back", `
		spec sas
		publish
		leader a.sas
		act abort
		act retry
		target sas 1
		generation sas 2
		reach a.sas
		phase idle`},
	{"a fast roll-back reaches all at once, and what was rolled back from does not come again", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		reach a.sas
		at 6000
		reach b.man
		publish
		reach a.sas
		at 12000
		reach b.man
		act rollback seq=1 fast
		target sas 1
		target man 1
		phase rolling back
		reach a.sas
		reach b.man
		phase idle
		at 60000
		target sas 1
		publish
		target sas 3`},
	{"a slow roll-back goes by the order", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		reach a.sas
		at 6000
		reach b.man
		publish
		reach a.sas
		at 12000
		reach b.man
		act rollback seq=1
		target sas 1
		target man 2
		why man rollback-order
		reach a.sas
		phase rolling back
		at 17000
		target man 2
		at 17001
		target man 1`},
	{"what is withdrawn is chosen no more, and who has not reached it gets another one", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		reach a.sas
		at 3000
		publish
		target sas 2
		act withdraw seq=1
		at 30000
		target man none
		act withdraw seq=2
		publish
		target sas 3`},
	{"a halt by the deadline", `
		spec sas progress=10000 halt=20000
		publish
		leader a.sas
		at 10001
		why sas deadline-exceeded
		phase rolling
		at 20000
		phase rolling
		at 20001
		phase halted
		publish
		reach a.sas
		target sas 1
		act resume
		target sas 2`},
	{"as many leaders as are required", `
		spec sas require=sas:2
		publish
		leader a.sas
		leader b.sas
		leader c.sas
		reach a.sas
		unreached sas
		reach c.sas
		reached sas
		leave a.sas
		publish
		target sas 1
		why sas leaders`},
	{"as many failing instances as are allowed", `
		spec sas failing=sas:1
		publish
		leader a.sas
		leader b.sas
		publish
		fail a.sas timestamp-out-of-range 1
		target sas 1
		fail b.sas - 9
		at 60001
		target sas 1
		at 60002
		target sas 2`},
	{"versions come faster than they are kept, and the next location gets some all the same", `
		spec sas man:1000 keep=4
		leader a.sas
		leader b.man
		publish
		reach a.sas
		at 200
		publish
		reach a.sas
		at 400
		publish
		reach a.sas
		at 600
		publish
		reach a.sas
		at 800
		publish
		reach a.sas
		at 1000
		publish
		reach a.sas
		at 1001
		target man 1`},
	{"a name is taken", `
		spec sas
		join a.sas
		join a.vla
		refused PRECONDITION_FAILED`},
}

func TestActs(t *testing.T) {
	for _, a := range acts {
		t.Run(a.name, func(t *testing.T) { play(t, a.text) })
	}
}
