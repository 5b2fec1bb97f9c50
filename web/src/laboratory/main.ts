// The laboratory in the browser: the page of `lasthop serve`.

import "uplot/dist/uPlot.min.css";
import "../style.css";
import "./laboratory.css";

import { mount } from "svelte";

import App from "./App.svelte";

mount(App, { target: document.getElementById("laboratory")! });
