// SPDX-License-Identifier: GPL-2.0-or-later

#pragma clang diagnostic ignored "-Wc23-extensions"  // #embed
#include "CDashboard.h"

static const unsigned char index_html[] = {
#embed "pages/index.html"
};
static const unsigned char icon_svg[] = {
#embed "pages/icon.svg"
};
static const unsigned char base_css[] = {
#embed "pages/base.css"
};
static const unsigned char app_css[] = {
#embed "pages/app.css"
};
static const unsigned char theme_js[] = {
#embed "pages/theme.js"
};
static const unsigned char actions_js[] = {
#embed "pages/actions.js"
};
static const unsigned char api_js[] = {
#embed "pages/api.js"
};
static const unsigned char app_js[] = {
#embed "pages/app.js"
};
static const unsigned char create_js[] = {
#embed "pages/create.js"
};
static const unsigned char devices_js[] = {
#embed "pages/devices.js"
};
static const unsigned char dialogs_js[] = {
#embed "pages/dialogs.js"
};
static const unsigned char dom_js[] = {
#embed "pages/dom.js"
};
static const unsigned char form_js[] = {
#embed "pages/form.js"
};
static const unsigned char format_js[] = {
#embed "pages/format.js"
};
static const unsigned char history_js[] = {
#embed "pages/history.js"
};
static const unsigned char job_js[] = {
#embed "pages/job.js"
};
static const unsigned char jobs_js[] = {
#embed "pages/jobs.js"
};
static const unsigned char live_js[] = {
#embed "pages/live.js"
};
static const unsigned char log_js[] = {
#embed "pages/log.js"
};
static const unsigned char overview_js[] = {
#embed "pages/overview.js"
};
static const unsigned char parts_js[] = {
#embed "pages/parts.js"
};
static const unsigned char player_js[] = {
#embed "pages/player.js"
};
static const unsigned char request_js[] = {
#embed "pages/request.js"
};
static const unsigned char store_js[] = {
#embed "pages/store.js"
};
static const unsigned char stream_js[] = {
#embed "pages/stream.js"
};
static const unsigned char tracks_js[] = {
#embed "pages/tracks.js"
};

#define PAGE(name, bytes) {name, bytes, sizeof bytes}

static const struct dashboard_file files[] = {
    PAGE("index.html", index_html),
    PAGE("icon.svg", icon_svg),
    PAGE("base.css", base_css),
    PAGE("app.css", app_css),
    PAGE("theme.js", theme_js),
    PAGE("actions.js", actions_js),
    PAGE("api.js", api_js),
    PAGE("app.js", app_js),
    PAGE("create.js", create_js),
    PAGE("devices.js", devices_js),
    PAGE("dialogs.js", dialogs_js),
    PAGE("dom.js", dom_js),
    PAGE("form.js", form_js),
    PAGE("format.js", format_js),
    PAGE("history.js", history_js),
    PAGE("job.js", job_js),
    PAGE("jobs.js", jobs_js),
    PAGE("live.js", live_js),
    PAGE("log.js", log_js),
    PAGE("overview.js", overview_js),
    PAGE("parts.js", parts_js),
    PAGE("player.js", player_js),
    PAGE("request.js", request_js),
    PAGE("store.js", store_js),
    PAGE("stream.js", stream_js),
    PAGE("tracks.js", tracks_js),
};

#undef PAGE

struct dashboard_file dashboard_file(size_t index) {
    if (index < sizeof files / sizeof files[0]) return files[index];
    return (struct dashboard_file){"", (const unsigned char *)"", 0};
}
