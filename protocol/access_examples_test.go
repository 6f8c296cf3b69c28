package protocol

// accessExamples are the examples of rights.
var accessExamples = []example{
	{"access-change", request(70, &AccessChange{
		Verb: AccessCreateToken, Principal: []byte("token:ci"), Hash: []byte("0123456789abcdef0123456789abcdef"),
		ExpiresMillis: 1_772_366_400_000,
		Operation:     Operation{Author: []byte("ann"), Reason: []byte("nightly runs"), Numbered: exampleNumbered()},
		Grants: list[AccessGrant](
			&AccessGrant{Role: []byte("write"), Path: []byte("/prod/jobs"), Object: []byte("nightly-")},
			&AccessGrant{Role: []byte("read"), Path: []byte("/")},
		),
	})},
	{"access-change-role", request(71, &AccessChange{
		Verb: AccessSetRole, Role: []byte("deploy"),
		Rules: list[AccessRule](&AccessRule{Path: []byte("/"), Object: []byte("d-"), Rights: uint64(RightOperate)}),
	})},
	{"access-change-answer", answer(70, &AccessChangeAnswer{Existed: true, Since: 4712})},
	{"access-list", request(72, &AccessList{Roles: true, After: []byte("deploy"), Limit: 100})},
	{"access-list-answer", answer(72, &AccessListAnswer{
		Roles: list[AccessRole](&AccessRole{Name: []byte("deploy"),
			Rules: list[AccessRule](&AccessRule{Path: []byte("/"), Rights: 17})}),
		Principals: list[AccessPrincipal](&AccessPrincipal{
			Principal: []byte("cn:box.example"), CreatedMillis: 1_772_366_400_000, By: []byte("ann"),
			Grants: list[AccessGrant](&AccessGrant{Role: []byte("read"), Path: []byte("/")}),
		}),
		Next: []byte("cn:box.example"), Decided: true,
	})},
	{"access-ask", request(73, &AccessAsk{
		Principal: []byte("token:ci"), Path: []byte("/prod/jobs"), Object: []byte("nightly-1"),
		Right: uint64(RightAcquire),
	})},
	{"access-ask-answer", answer(73, &AccessAskAnswer{More: true, Decisions: list[AccessDecision](&AccessDecision{
		Principal: []byte("token:ci"), Grant: AccessGrant{Role: []byte("write"), Path: []byte("/prod/jobs")},
		Rule: AccessRule{Path: []byte("/prod/jobs"), Rights: 7},
	})})},
	{"access-denials", request(74, &AccessDenials{Limit: 10})},
	{"access-denials-answer", answer(74, &AccessDenialsAnswer{
		HostName: []byte("signal-3"), Total: 12,
		Denials: list[AccessDenial](&AccessDenial{
			AtMillis: 1_772_366_400_000, Who: []byte("token:ci"), Address: []byte("10.0.0.9:51234"),
			Request: []byte("SEMAPHORE_DELETE"), Right: uint64(RightDelete), Path: []byte("/prod/jobs"),
			Object: []byte("x"),
		}),
	})},
	{"expiring", push(0, &Expiring{Token: []byte("ci"), LeftMillis: 60_000})},
}
