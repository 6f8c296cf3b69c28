package main

import (
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// processObject is a coordination process as it is printed. Fields that end with age_ms say how long ago something was,
// by the time of the shard.
type processObject struct {
	Path        string                `json:"path"`
	Name        string                `json:"name"`
	Exists      bool                  `json:"exists"`
	Revision    uint64                `json:"revision"`
	Phase       string                `json:"phase"`
	PhaseMS     *int64                `json:"phase_age_ms"`
	Epoch       uint64                `json:"epoch"`
	OpenedMS    *int64                `json:"opened_age_ms"`
	OpensMS     *int64                `json:"opens_in_ms"`
	Coordinator uint64                `json:"coordinator_id"`
	Of          int                   `json:"members_of_epoch"`
	Members     []processMemberObject `json:"members"`
	Reasons     []processReasonObject `json:"reasons"`
	Results     []processResultObject `json:"results"`
	LastAct     *processActObject     `json:"last_act"`
	Spec        processSpecObject     `json:"spec"`
}

// processMemberObject is a member of a process.
type processMemberObject struct {
	ID        uint64 `json:"id"`
	Member    string `json:"member"`
	SessionID cli.ID `json:"session_id"`
	State     string `json:"state"`
	Role      string `json:"role"`
	Of        bool   `json:"of_epoch"`
	Prepared  uint64 `json:"prepared_epoch"`
	Completed uint64 `json:"completed_epoch"`
	Unread    int    `json:"unread"`
	JoinedMS  *int64 `json:"joined_age_ms"`
	cli.Payload
}

// processReasonObject is why a round does not move.
type processReasonObject struct {
	Code     string   `json:"code"`
	Text     string   `json:"text"`
	Blocked  bool     `json:"blocked"`
	Late     bool     `json:"late"`
	Epoch    uint64   `json:"epoch"`
	Exchange uint64   `json:"exchange"`
	From     uint64   `json:"from_id"`
	Waiting  int      `json:"waiting"`
	Of       int      `json:"of"`
	Named    []uint64 `json:"named_ids"`
	AgeMS    *int64   `json:"age_ms"`
	EndsMS   *int64   `json:"ends_in_ms"`
}

// processResultObject is what a coordinator left when it completed a round. Its data is shown by process results alone.
type processResultObject struct {
	Epoch uint64     `json:"epoch"`
	Bytes int        `json:"bytes"`
	AgeMS *int64     `json:"age_ms"`
	At    *time.Time `json:"at,omitempty"`
	cli.Payload
}

// processActObject is what an operator did with a process, or a member that gave a round up.
type processActObject struct {
	Act      string     `json:"act"`
	Epoch    uint64     `json:"epoch"`
	MemberID uint64     `json:"member_id"`
	Member   string     `json:"member"`
	Author   string     `json:"author"`
	Reason   string     `json:"reason"`
	AgeMS    *int64     `json:"age_ms"`
	At       *time.Time `json:"at,omitempty"`

	moment time.Duration // when, by the time of the shard
}

// processSpecObject is what an operator has said of a process. The fields are the flags of process create.
type processSpecObject struct {
	Revision    uint64 `json:"revision"`
	OpenMS      int64  `json:"open_delay_ms"`
	MaxOpenMS   int64  `json:"max_open_delay_ms"`
	MinMembers  int    `json:"min_members"`
	ReplyMS     int64  `json:"reply_timeout_ms"`
	OnTimeout   string `json:"on_timeout"`
	MaxPayload  int    `json:"max_payload_bytes"`
	KeepResults int    `json:"keep_results"`
}

// processSummaryObject is a process in a list.
type processSummaryObject struct {
	Path        string `json:"path"`
	Name        string `json:"name"`
	Revision    uint64 `json:"revision"`
	Phase       string `json:"phase"`
	Epoch       uint64 `json:"epoch"`
	Members     int    `json:"members"`
	Prepared    int    `json:"prepared"`
	Coordinator string `json:"coordinator"`
	LastResult  uint64 `json:"last_result_epoch"`
}

// processReplyObject is the reply of a member to a request of process send.
type processReplyObject struct {
	ID     uint64 `json:"id"`
	Member string `json:"member"`
	Failed bool   `json:"failed"`
	cli.Payload
}
