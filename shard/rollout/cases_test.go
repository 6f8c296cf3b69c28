package rollout

import "testing"

// cases are the rules as scripts. T1, T2... are versions 1, 2...; a report at 999 ms counts at 1000, the next whole
// millisecond, and a delay of 5 s ends at 6000.
var cases = []struct{ name, text string }{
	{"nothing yet: the first location gets a version, the next hears when", `
		spec sas man:5000 vla:5000
		publish
		join b.man
		leader a.sas
		ask a.sas
		target sas 1
		target man none
		next man 0
		at 999
		reach a.sas
		ask b.man
		target man none
		next man 5001   # of which the first belongs to the millisecond that has begun`},
	{"a location gets a version when its delay is over, and not before", `
		spec sas man:5000 vla:5000
		publish
		join b.man
		leader a.sas
		at 999
		reach a.sas
		at 5899
		ask b.man
		target man none
		at 5999
		ask b.man
		target man none
		at 6000
		ask b.man
		target man 1`},
	{"the third location waits for the second", `
		spec sas man:5000 vla:5000
		publish
		leader a.sas
		leader b.man
		leader c.vla
		at 999
		reach a.sas
		at 20000
		target man 1
		target vla none
		reach b.man
		at 25000
		target vla none
		at 25001
		target vla 1`},
	{"all leaders reach the target before the next one", `
		spec sas
		publish
		leader a.sas
		leader b.sas
		reach a.sas
		publish
		ask a.sas
		ask b.sas
		target sas 1
		why sas leaders
		reach b.sas
		ask a.sas
		target sas 2`},
	{"a follower does not count", `
		spec sas
		publish
		leader a.sas
		join f.sas
		reach a.sas
		publish
		ask a.sas
		target sas 2`},
	{"a follower gets the target of its location", `
		spec sas
		publish
		join f.sas
		ask f.sas
		target sas 1
		report f.sas 0 1`},
	{"the newest version that is old enough is next: others are skipped", `
		spec sas man:5000
		leader a.sas
		publish
		reach a.sas
		at 1000
		publish
		reach a.sas
		at 2000
		publish
		reach a.sas
		at 8000
		leader b.man
		ask b.man
		target man 3
		given 4`},
	{"what is too new waits", `
		spec sas man:5000
		leader a.sas
		publish
		reach a.sas
		at 1000
		publish
		reach a.sas
		at 2000
		publish
		reach a.sas
		at 6500
		leader b.man
		ask b.man
		target man 2`},
	{"a version that no leader reached goes no further", `
		spec sas man:5000
		publish
		leader a.sas
		join b.man
		at 60000
		target man none`},
	{"an error with a listed code: another version at once", `
		spec sas
		publish
		leader a.sas
		ask a.sas
		publish
		target sas 1
		fail a.sas timestamp-out-of-range 1
		target sas 2
		reach a.sas
		phase idle`},
	{"errors without a code: after a minute, and after the fourth attempt", `
		spec sas
		publish
		leader a.sas
		ask a.sas
		publish
		at 61000
		fail a.sas - 3
		target sas 1
		at 62000
		target sas 1
		fail a.sas - 4
		target sas 2`},
	{"errors without a code: many attempts in less than a minute", `
		spec sas
		publish
		leader a.sas
		ask a.sas
		publish
		fail a.sas - 9
		at 60001
		target sas 1
		at 60002
		target sas 2`},
	{"a leader that goes on after an error", `
		spec sas
		publish
		leader a.sas
		ask a.sas
		publish
		fail a.sas - 9
		at 30000
		reach a.sas
		at 90000
		target sas 2
		given 2`},
	{"a version that was given up goes no further", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		publish
		reach a.sas
		target sas 2
		publish
		fail a.sas timestamp-out-of-range 1
		target sas 3
		at 6000
		target man 1
		reach b.man
		at 60000
		target man 1`},
	{"a version that was given up goes no further, where delays count from the assignment too", `
		spec sas man:5000 from=assigned
		publish
		leader a.sas
		leader b.man
		reach a.sas
		publish
		at 4000
		publish
		fail a.sas timestamp-out-of-range 1
		target sas 3
		at 5001
		target man 1
		reach b.man
		at 9000
		target man 1
		at 9001
		target man 3`},
	{"where delays count from the assignment a version flows on before it is reached, unless it fails", `
		spec sas man:5000 from=assigned
		publish
		leader a.sas
		leader b.man
		at 4000
		fail a.sas timestamp-out-of-range 1
		at 9000
		target man none
		update a.sas
		target man 1`},
	{"no alternative", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		at 999
		reach a.sas
		at 6000
		target man 1
		fail b.man timestamp-out-of-range 1
		target man 1
		phase blocked
		why man no-alternative
		at 10000
		publish
		reach a.sas
		at 15000
		target man 1
		at 15001
		target man 2`},
	{"a version that was given up in a location is not chosen there again", `
		spec sas man:5000
		publish
		leader a.sas
		leader b.man
		reach a.sas
		publish
		reach a.sas
		at 6000
		target man 2
		publish
		reach a.sas
		at 12000
		fail b.man timestamp-out-of-range 1
		target man 3
		at 23000
		fail b.man timestamp-out-of-range 1
		target man 3
		why man no-alternative`},
	{"the only leader of a location dies", `
		spec sas man:5000 vla:5000
		publish
		leader a.sas
		leader b.man
		leader c.vla
		reach a.sas
		at 6000
		reach b.man
		publish
		reach a.sas
		at 7000
		leave b.man
		at 13000
		target man 1
		target vla 1
		reach c.vla
		phase blocked
		why man no-leaders`},
	{"the leader that is behind dies", `
		spec sas
		publish
		leader a.sas
		leader b.sas
		reach a.sas
		unreached sas
		leave b.sas
		reached sas`},
	{"a leader becomes a follower again", `
		spec sas
		publish
		leader a.sas
		leader b.sas
		reach a.sas
		follower b.sas
		reached sas`},
	{"birth with a follower alone: one version, and no second", `
		spec sas
		publish
		join f.sas
		ask f.sas
		target sas 1
		reach f.sas
		publish
		ask f.sas
		target sas 1
		unreached sas
		why sas no-leaders
		given 1`},
	{"a pause holds targets", `
		spec sas
		publish
		leader a.sas
		act pause
		phase paused
		publish
		reach a.sas
		target sas 1
		at 60000
		target sas 1
		act resume
		target sas 2`},
	{"an abort works while paused", `
		spec sas
		publish
		leader a.sas
		act pause
		act abort
		phase halted
		publish
		target sas 1
		act resume
		target sas 2`},
	{"a rollback works while paused", `
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
		target man 2
		act pause
		act rollback seq=1 fast
		target sas 1
		target man 1
		phase paused`},
	{"a location that is bypassed", `
		spec sas man:5000 vla:5000
		publish
		leader a.sas
		leader b.man
		leader c.vla
		act bypass man
		at 999
		reach a.sas
		at 10999
		target vla none
		at 11000
		target vla 1
		target man none
		act unbypass man
		target man 1`},
	{"a gate", `
		spec sas man:5000 vla:5000 gates=man:errors
		publish
		leader a.sas
		leader b.man
		leader c.vla
		reach a.sas
		at 6000
		reach b.man
		unreached man
		phase blocked
		why man gate
		at 60000
		target vla none
		gate man errors 1 passed
		reached man
		at 65000
		target vla none
		at 65001
		target vla 1`},
	{"a gate has a verdict for another version, fails, and takes back", `
		spec sas man:5000 gates=sas:errors
		publish
		leader a.sas
		leader b.man
		gate sas errors 2 passed
		refused FENCED
		gate sas errors 1 failed
		reach a.sas
		unreached sas
		why sas gate
		gate sas errors 1 passed
		reached sas
		at 4000
		gate sas errors 1 failed
		unreached sas
		at 60000
		target man none
		gate sas errors 1 passed
		publish
		target sas 2
		gate sas errors 1 passed
		refused FENCED
		reach a.sas
		unreached sas`},
	{"a report of an older target counts for nothing", `
		spec sas
		publish
		leader a.sas
		leader b.sas
		reach a.sas
		reach b.sas
		publish
		target sas 2
		reach a.sas
		report b.sas 2 1
		unreached sas
		report b.sas 2 9
		refused BAD_REQUEST
		reach b.sas
		report b.sas 1 1
		refused FENCED`},
	{"two that ask at once get the same", `
		spec sas
		publish
		leader a.sas
		leader b.sas
		publish
		reach a.sas
		reach b.sas
		ask a.sas
		ask b.sas
		generation sas 2
		given 2`},
	{"deleting wants force while instances are there", `
		spec sas
		publish`},
	{"a source is asked once", `
		spec sas source=asked
		leader a.sas
		why - no-source
		phase blocked
		source 7
		asked 7 1
		source 8
		ask a.sas
		asked 7 1
		unsource 7
		asked 8 2
		offer 7 1
		refused FENCED
		offer 8 2
		target sas 1
		offer 8 2
		refused FENCED
		ask a.sas
		asked 0 0
		reach a.sas
		asked 0 0
		ask a.sas
		asked 8 3
		decline 8 3
		at 999
		asked 0 0
		at 1001
		asked 8 4
		offer 8 4
		target sas 2`},
	{"a location is removed in the middle", `
		spec sas man:5000 vla:5000
		publish
		leader a.sas
		leader b.man
		leader c.vla
		at 999
		reach a.sas
		alter sas vla:5000
		at 10999
		target vla none
		at 11000
		target vla 1
		reach c.vla
		ask b.man
		refused PRECONDITION_FAILED
		publish
		at 19999
		reach a.sas
		alter sas vla:5000
		at 29999
		target vla 1
		at 30000
		target vla 2`},
}

func TestCasesOfThePage(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { play(t, c.text) })
	}
}
