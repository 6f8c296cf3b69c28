package process

import "testing"

// three is a running round of three members, coordinated by a.
const three = `
	join a
	join b
	join c
	at 101
	round
	state running
`

// cases are the rules for one process and its members, as scripts.
var cases = []struct{ name, text string }{
	{"one member prepares, coordinates and completes", `
		join a
		inbox a -
		at 101
		inbox a prepare:1(a,1)
		prepared a
		inbox a coordinate:1
		complete a done
		inbox a coordinate:1 complete:1=done
		completed a
		inbox a -
		state complete
		result 1 done
		why nothing`},
	{"members that join one after the other get an epoch each", `
		join a
		at 101
		round
		complete a 1
		join b
		at 202
		coordinator a
		round
		complete a 2
		join c
		at 303
		round
		complete a 3
		result 1 1
		result 2 2
		result 3 3
		inbox b complete:3=3
		inbox c complete:3=3`},
	{"a broadcast reaches every member once, its sender too", three + `
		send a all get
		inbox a request:1#1<a=get
		inbox b request:1#1<a=get
		inbox c request:1#1<a=get
		reply b 1 two
		reply a 1 one
		reply c 1 three
		ack a 3
		inbox a end:1#1=all[b=two,a=one,c=three]
		ack a
		inbox a -`},
	{"a broadcast to the others leaves its sender out", three + `
		send a others get
		inbox a -
		reply b 1 x
		reply c 1 y
		inbox a end:1#1=all[b=x,c=y]`},
	{"a request to none ends at once", three + `
		send a none get
		inbox a end:1#1=all[]
		inbox b -`},
	{"the others of one member are none", `
		join a
		at 101
		round
		send a others get
		inbox a end:1#1=all[]`},
	{"members that join within the delay share an epoch", `
		join a
		join b
		at 50
		join c
		at 149
		join d
		at 199
		join e
		at 298
		epoch 0
		at 300
		epoch 1
		inbox e prepare:1(a,5)`},
	{"a coordinator that leaves in the middle", three + `
		send a others work
		ack b 2
		reply b 1 done
		leave a
		state forming
		inbox c request:1#1<gone=work
		at 202
		coordinator b
		inbox b cancel:1 prepare:2(b,2)
		inbox c cancel:1 prepare:2(b,2)
		round
		complete b well
		inbox b complete:2=well
		inbox c complete:2=well`},
	{"a failure goes to the sender, who sends again", three + `
		send a b count
		failed b 1 not now
		inbox a end:1#1=all[b=!not now]
		send a b count
		reply b 2 1
		inbox a end:1#1=all[b=!not now] end:1#2=all[b=1]
		inbox b request:1#1<a=count request:1#2<a=count`},
	{"what is given twice counts once", three + `
		prepared b
		prepared b
		send a b work
		reply b 1 done
		reply b 1 done
		refused FENCED ended
		ack b
		ack b
		ack b 1
		inbox a end:1#1=all[b=done]
		complete a x
		complete a x
		results 1
		completed b
		completed b
		inbox b -`},
	{"only members and operators open epochs", three + `
		send a others x
		reply b 1 y
		at 100000
		epoch 1
		due
		leave c
		due 100101
		at 100101
		epoch 2`},
	{"a request from member to member, in the order of sending", three + `
		send b c one
		send b c two
		send c b three
		inbox c request:1#1<b=one request:1#2<b=two
		inbox b request:1#3<c=three
		reply c 2 2
		reply c 1 1
		inbox b request:1#3<c=three end:1#2=all[c=2] end:1#1=all[c=1]`},
	{"a member that never replies is waited for, and named", `
		spec timeout=1000 wait` + three + `
		send a all work
		reply a 1 x
		reply b 1 y
		at 1000
		why awaiting-reply a (1, 1 not acknowledged) waits for 1 of 3 replies: c (3, 1 not acknowledged), for 900ms
		at 5000
		why waits for 1 of 3 replies: c (3, 1 not acknowledged), for 4.9s, longer than the reply timeout
		state running
		reply c 1 z
		ack a 3
		inbox a end:1#1=all[a=x,b=y,c=z]`},
	{"a member that never replies is put out", `
		spec timeout=1000 kick` + three + `
		send a all work
		reply a 1 x
		reply b 1 y
		at 1101
		state running
		at 1102
		state forming
		removed c
		why opening the next epoch opens in 100ms; evict of c by reply timeout: it did not reply in time
		at 1203
		epoch 2
		inbox a end:1#1=cancelled[a=x,b=y]-gone cancel:1 prepare:2(a,2)`},
	{"a member that never replies makes its exchange end", `
		spec timeout=1000 fail` + three + `
		send a all work
		reply a 1 x
		reply b 1 y
		ack a
		at 1102
		inbox a end:1#1=late[a=x,b=y]-c
		state running
		reply c 1 z
		refused FENCED ended
		complete a x`},
	{"a cancelled exchange has the replies that had come", three + `
		send a all work
		reply b 1 x
		reply c 1 y
		restart again
		at 300
		epoch 2
		inbox a end:1#1=cancelled[b=x,c=y]-a cancel:1 prepare:2(a,3)`},
	{"a payload that is too long", `
		spec payload=4` + three + `
		send a all 12345
		refused BAD_REQUEST 4 bytes
		send a all 1234
		reply b 1 12345
		refused BAD_REQUEST
		complete a 12345
		refused BAD_REQUEST`},
	{"a full inbox refuses its sender, and hurts no one else", three + `
		fill a 200 b
		fill c 56 b
		send a all more
		refused OVERLOADED the inbox of b (2) is full
		inbox c -
		send a c x
		send c a x
		ack b 3
		send a all more
		inbox c request:1#257<a=x request:1#259<a=more`},
	{"observers alone form no epoch", `
		join a observer
		join b observer
		at 1000
		epoch 0
		state forming
		why no-candidate no candidate for coordinating among 2 members
		join a
		at 1101
		coordinator a`},
	{"of the candidates the one that joined first coordinates", `
		join a observer
		join b
		join c
		at 101
		coordinator b
		leave b
		at 300
		coordinator c`},
	{"a restart in the middle of a round", three + `
		send a all work timeout=900
		reply b 1 x
		reload
		reply c 1 y
		ack a 3
		reload
		reply a 1 z
		inbox a end:1#1=all[b=x,c=y,a=z]
		reload
		complete a done
		reload
		completed b
		inbox c request:1#1<a=work complete:1=done`},
	{"a member that was kicked is told, and may join again", three + `
		kick b misbehaves
		removed b
		send b all x
		refused NOT_FOUND
		at 300
		epoch 2
		join b
		at 401
		epoch 3
		inbox b prepare:3(a,3)`},
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { play(t, c.text) })
	}
}
